package http1

import (
	"bytes"
	"strconv"
)

// maxIdle bounds the value of IdleTimeout, in seconds: a day.
const maxIdle = 86400

// IdleTimeout returns the time in seconds after which the peer closes the idle connection, if
// it announces one: "Keep-Alive: timeout=5, max=100" (RFC 2068 section 19.7.1.1). Apache and
// Node.js do.
func (r *Response) IdleTimeout() (seconds int, announced bool) {
	if !r.have.has(KnownKeepAlive) {
		return 0, false
	}
	rest := r.Value(int(r.first[KnownKeepAlive]))
	for len(rest) > 0 {
		var part []byte
		part, rest, _ = bytes.Cut(rest, []byte(","))
		name, value, _ := bytes.Cut(part, []byte("="))
		if !foldIs(bytes.TrimSpace(name), "timeout") {
			continue
		}
		n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 31)
		if err != nil {
			return 0, false
		}
		return min(int(n), maxIdle), true
	}
	return 0, false
}
