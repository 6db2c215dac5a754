// Ponder wants an API, if only an empty one.
import { Hono } from "hono";

export default new Hono();
