package accesslog

import (
	"net/netip"
	"unsafe"
)

// Record is one exchange as read from a ring. Its texts come from clients and may
// contain any byte. They are valid until the function that receives them returns.
type Record struct {
	Exchange
	// Client is the client's address, invalid if unknown.
	Client                                        netip.AddrPort
	Method, Host, Path, RequestID, Agent, Referer []byte
	Reason                                        []byte // of a rejection or failure
	headers                                       []byte
}

// Headers calls use for every selected request header, in order.
func (r *Record) Headers(use func(name, value []byte)) {
	for b := r.headers; len(b) >= headerFront; {
		n, v := int(b[0]), int(b[2])|int(b[3])<<8
		if headerFront+n+v > len(b) {
			return
		}
		use(b[headerFront:headerFront+n], b[headerFront+n:headerFront+n+v])
		b = b[headerFront+n+v:]
	}
}

// HasHeaders reports whether there are selected request headers.
func (r *Record) HasHeaders() bool { return len(r.headers) >= headerFront }

// parse decodes the record in b, which must have its exact length and be aligned to 8
// bytes. It reports whether every length is within its limit and the record.
func (r *Record) parse(b []byte) bool {
	if len(b) < fixedSize {
		return false
	}
	f := (*fixed)(unsafe.Pointer(&b[0]))
	rest := b[fixedSize:]
	ok := true
	take := func(n, max int) []byte {
		if n > max || n > len(rest) {
			ok = false
			return nil
		}
		text := rest[:n:n]
		rest = rest[n:]
		return text
	}
	r.Exchange = f.Exchange
	r.Client = netip.AddrPort{}
	if f.known != 0 {
		r.Client = netip.AddrPortFrom(netip.AddrFrom16(f.client).Unmap(), f.port)
	}
	r.Method = take(int(f.method), MaxMethod)
	r.Host = take(int(f.host), MaxHost)
	r.Path = take(int(f.path), MaxPath)
	r.RequestID = take(int(f.requestID), MaxRequestID)
	r.Agent = take(int(f.agent), MaxAgent)
	r.Referer = take(int(f.referer), MaxReferer)
	r.headers = take(int(f.headers), MaxHeaders*(headerFront+MaxHeaderName+MaxHeaderValue))
	r.Reason = take(int(f.reason), MaxReason)
	return ok && len(rest) < align
}
