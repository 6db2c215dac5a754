"""The OpenAPI document, built from the schemas, the error table and examples."""
