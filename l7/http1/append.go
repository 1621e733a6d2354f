package http1

// Forward is what the proxy adds to a request it sends on.
type Forward struct {
	ClientIP []byte // text of the client's address without port; IPv6 without brackets
	Proto    []byte // "http" or "https"
	Host     []byte // sent as Host instead of the client's, unless nil; X-Forwarded-Host stays the client's
	Close    bool   // adds Connection: close
	Extra    []byte // more field lines, made by AppendField
}

// AppendRequest appends the head that a backend gets: "METHOD path HTTP/1.1",
// Host, the fields that are not dropped in their order and spelling, what f
// adds, and the framing. The bytes r was parsed from must still be there.
func AppendRequest(dst []byte, r *Request, f *Forward) []byte { return dst }

// ResponseOptions is what the proxy changes in a response it sends on.
type ResponseOptions struct {
	Close     bool // adds Connection: close
	KeepAlive bool // adds Connection: keep-alive, for HTTP/1.0 clients that asked for it
	Unchunk   bool // leaves Transfer-Encoding out: the body is sent decoded (HTTP/1.0 client)

	Location        Value  // replaces the value of field LocationIndex, unless it is the zero Value
	ContentLocation Value  // the same for ContentLocationIndex
	Extra           []byte // more field lines, made by AppendField
}

// AppendResponse appends the head the client gets: the status line as
// HTTP/1.1, the fields that are not dropped, what o adds, and the framing. 1xx
// heads are written like all others; a 101 keeps its Upgrade.
func AppendResponse(dst []byte, r *Response, o *ResponseOptions) []byte { return dst }

// Value is a field value that cannot break out of its line. The zero Value is empty.
type Value struct{ b []byte }

// CheckValue makes a Value of b, which is borrowed; false when b holds a
// control byte other than a tab.
func CheckValue(b []byte) (v Value, ok bool) { return Value{}, false }

// AppendField appends the line "name: value CRLF". The name is ours, so it is
// trusted.
func AppendField(dst []byte, name string, v Value) []byte { return dst }
