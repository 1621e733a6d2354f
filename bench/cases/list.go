package cases

// All returns the cases in the order of execution.
func All() []Case {
	var out []Case
	for _, group := range [][]Case{plain(), secure(), defaults(), features(), relayed(), crowds()} {
		out = append(out, group...)
	}
	return out
}

// get128 returns the base case, modified by edit.
func get128(name, title string, edit func(*Case)) Case {
	c := Case{
		Name: name, Title: title, Kind: Throughput, Unit: "request", Method: "GET", Host: PlainHost, Rules: One,
		Connections: 64, Path: "/128", Expect: 128,
	}
	edit(&c)
	return c
}

func (c *Case) get10k() { c.Path, c.Expect = "/10k", 10<<10 }

// get1m counts in MiB and gives HAProxy its optimal buffer size.
func (c *Case) get1m() {
	c.Unit, c.Connections, c.Path, c.Expect, c.BufferSize = "MiB", 16, "/1m", 1<<20, 64<<10
}

// plain returns the cases without TLS.
func plain() []Case {
	last := Service(Services)
	return []Case{
		get128("get128-c64", "GET 128 B, 64 connections", func(c *Case) {
			c.Targets = targets(0.85, 0.85)
		}),
		get128("get128-c512", "GET 128 B, 512 connections", func(c *Case) {
			c.Connections, c.Targets = 512, targets(0.75, 0.75)
		}),
		get128("get10k-c64", "GET 10 KiB, 64 connections", func(c *Case) {
			c.get10k()
			c.Targets = targets(0.88, 0.80)
		}),
		get128("get1m-c16", "GET 1 MiB, 16 connections (HAProxy with 64 KiB buffers)", func(c *Case) {
			c.get1m()
			c.Targets = targets(0.95, 0.50)
		}),
		get128("post10k-c64", "POST 10 KiB, 128 B back, 64 connections", func(c *Case) {
			c.Method, c.Body = "POST", 10<<10
		}),
		get128("services100-prefix", "100 services by Host and URL prefix, the last one matches, 64 connections", func(c *Case) {
			c.Rules, c.Host, c.Path = Prefix, last.Host, last.Prefix+"128"
			c.Targets, c.Extra = targets(0.87, 0.85), 0.4
		}),
		get128("services100-regex", "100 services by Host and URL regex, the last one matches, 64 connections", func(c *Case) {
			c.Rules, c.Host, c.Path = Regex, last.RegexHost, last.RegexPath+"128"
			c.Targets = targets(0.87, 0.85)
		}),
		get128("newconn-c64", "GET 128 B, a new connection per request, 64 at once", func(c *Case) {
			c.New, c.Targets = true, targets(1.0, 1.0)
		}),
	}
}

// secure returns the cases with TLS 1.3.
func secure() []Case {
	kept := func(c *Case) { c.Secure, c.Key = Kept, ECDSA }
	return []Case{
		get128("tls-get128-c64", "TLS, GET 128 B, 64 connections", func(c *Case) {
			kept(c)
			c.Targets = targets(0.78, 0.78)
		}),
		get128("tls-get10k", "TLS, GET 10 KiB, 64 connections", func(c *Case) {
			kept(c)
			c.get10k()
			c.Targets = targets(0.82, 0.75)
		}),
		get128("tls-get1m", "TLS, GET 1 MiB, 16 connections (HAProxy with 64 KiB buffers)", func(c *Case) {
			kept(c)
			c.get1m()
			c.Targets = targets(0.90, 0.90)
		}),
		get128("tls-full", "a full handshake (ECDSA P-256) and one GET 128 B per connection, 64 at once", func(c *Case) {
			c.New, c.Secure, c.Key, c.Targets = true, Full, ECDSA, targets(0.85, 1.0)
		}),
		get128("tls-full-rsa", "a full handshake (RSA 2048) and one GET 128 B per connection, 64 at once", func(c *Case) {
			c.New, c.Secure, c.Key = true, Full, RSA
		}),
		get128("tls-resumed", "a resumed handshake and one GET 128 B per connection, 64 at once", func(c *Case) {
			c.New, c.Secure, c.Key, c.Targets = true, Resumed, ECDSA, targets(0.72, 0.79)
		}),
		get128("h2-100x8", "HTTP/2 over TLS, GET 128 B, 100 streams on each of 8 connections, HTTP/1.1 to the backend", func(c *Case) {
			kept(c)
			c.Connections, c.Streams, c.Targets = 8, 100, targets(1.0, 0.65)
		}),
	}
}

// defaults returns the cases with default numbers of loops, threads and workers.
func defaults() []Case {
	return []Case{
		get128("default-get128-c64", "as installed: GET 128 B, 64 connections", func(c *Case) {
			c.Default, c.Like = true, "get128-c64"
		}),
		get128("default-get128-c512", "as installed: GET 128 B, 512 connections", func(c *Case) {
			c.Default, c.Like, c.Connections = true, "get128-c512", 512
		}),
		get128("default-tls-get128-c64", "as installed: TLS, GET 128 B, 64 connections", func(c *Case) {
			c.Default, c.Secure, c.Key = true, Kept, ECDSA
		}),
		get128("default-newconn-c64", "as installed: GET 128 B, a new connection per request, 64 at once", func(c *Case) {
			c.Default, c.New = true, true
		}),
	}
}

// features returns plain cases with a feature, which are also measured for Sluice without
// it.
func features() []Case {
	return []Case{
		get128("accesslog", "GET 128 B, 64 connections, with an access log", func(c *Case) {
			c.Feature, c.Extra = AccessLog, 1.5
		}),
		get128("cookie-headers", "GET 128 B, 64 connections, persistence by the application's cookie and two header rules", func(c *Case) {
			c.Feature, c.Extra = Cookie, 0.4
		}),
		get128("cookieinsert-headers", "GET 128 B, 64 connections, persistence by an inserted cookie and two header rules", func(c *Case) {
			c.Feature, c.Extra = CookieInsert, 0.4
		}),
	}
}

// relayed returns the cases of layer 4: bytes are relayed without parsing. A message is a
// request with its response, which fits into a segment.
func relayed() []Case {
	return []Case{
		get128("l4-bulk", "TCP relay, 1 MiB answers, 16 connections (HAProxy: 64 KiB buffers, splice, 1 MiB pipes; nginx: 64 KiB buffers)", func(c *Case) {
			c.get1m()
			c.Relay, c.Targets = true, targets(1.0, 0.7)
		}),
		get128("l4-small", "TCP relay, messages of 128 B, 64 kept connections", func(c *Case) {
			c.Relay, c.Targets = true, targets(0.95, 0.98)
		}),
		get128("l4-short", "TCP relay, a connection per message of 128 B, 64 at once", func(c *Case) {
			c.Relay, c.New, c.Targets = true, true, targets(0.93, 0.96)
		}),
		get128("l4-udp", "UDP, datagrams of 64 B there and back, 64 clients with 4 under way, processor time above the direct path", func(c *Case) {
			c.Unit, c.Window, c.Body = "round trip", 4, 64
			c.Relay, c.Targets = true, map[string]float64{"nginx": 0.4}
		}),
	}
}

// crowds returns the cases with thousands of almost idle clients.
func crowds() []Case {
	return []Case{
		get128("rest", "memory of all processes at rest, ten seconds after their start", func(c *Case) {
			c.Kind, c.Rounds, c.Limit = Rest, 3, 40
		}),
		get128("idle9000", "memory of 9,000 idle client connections, one request each", func(c *Case) {
			c.Kind, c.Connections, c.Rounds, c.Targets = Idle, 9000, 3, targets(0.35, 0.70)
		}),
		get128("tls-idle3000", "memory of 3,000 idle TLS client connections, one request each", func(c *Case) {
			c.Kind, c.Connections, c.Rounds, c.Targets = Idle, 3000, 3, targets(0.55, 0.55)
			c.Secure, c.Key = Kept, ECDSA
		}),
		get128("slow15000", "p99 at 4,000 requests/s beside 15,000 clients that send one byte per second", func(c *Case) {
			c.Kind, c.Stretch, c.Rate, c.Slow, c.Limit = Slow, 3, 4000, 15000, 2
		}),
	}
}
