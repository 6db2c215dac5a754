-- wrk draws each request at random from a file: method, path and body, separated by tabs, one a line.
-- The second argument is how many milliseconds a connection waits before it asks again.
-- Ends with one line of figures for tests/load/wrk.py.

local threads = 0
function setup(thread)
  threads = threads + 1
  thread:set("seed", threads)
end

local requests = {}
function init(args)
  math.randomseed(seed)
  local pause = tonumber(args[2])
  if pause > 0 then function delay() return pause end end
  for line in io.lines(args[1]) do
    local method, path, body = line:match("^(%u+)\t(%S+)\t(.*)$")
    local headers = {}
    if method == "POST" then headers["Content-Type"] = "application/json" else body = nil end
    requests[#requests + 1] = wrk.format(method, path, headers, body)
  end
end

function request()
  return requests[math.random(#requests)]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format("figures %d %d %d %d %d %d\n",
    summary.requests, summary.duration, summary.bytes,
    latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.timeout + e.status))
end
