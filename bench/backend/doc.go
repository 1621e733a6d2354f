// Package backend is the server behind every measured proxy. It has fixed bodies of 128
// B, 10 KiB and 1 MiB, and responds to POST with 128 B.
//
// The last segment of the path selects the body (/128, /app042/10k, /1m), so prefix rules
// need no rewriting. Connections are kept alive unless the request says otherwise. One
// edge-triggered loop runs on one thread without allocations per request: a request costs
// one read, one write and its share of an epoll_wait. It supports just enough HTTP/1.1
// for well-behaved proxies (heads up to 64 KiB, Content-Length bodies) and responds to
// chunked requests with 501.
//
// It runs as its own process: `bench backend ADDR:PORT`. It prints its address when it
// listens, and a line of JSON with its counters for every line on standard input. It
// exits at the end of standard input.
package backend
