package http1

import (
	"bytes"
	"encoding/binary"
	"strconv"
)

// Response is the head of a response. Upgrade means status 101 with Connection: upgrade and
// an Upgrade field. KeepAlive is the statement of the head; a body that ends with the
// connection overrides it.
type Response struct {
	Head

	Status int // 100-599; to 999 with LenientStatus
	Reason Span

	bare   bool   // the status line must be rewritten, e.g. because there is no SP after the status
	lines  []byte // the head with CRLF if it had LF
	faulty error  // error in the framing fields, relevant only if a body follows
}

// Parse parses a response head from the start of b like Request.Parse. Line ends within
// folded fields are overwritten with blanks in b, so further bytes of the head must be read
// into the same buffer. Errors are *Error and lead to a 502 regardless of their Status.
func (r *Response) Parse(b []byte) (n int, err error) {
	if r.waits(b) {
		return 0, nil
	}
	b = b[:min(len(b), MaxHead)]
	if n, err = r.parse(b); err == errBareHead {
		n, err = r.parseBare(b)
	}
	return r.result(b, n, err)
}

// parse is Parse within the size limit. Parsed lines are not parsed again. n is undefined
// after an error.
func (r *Response) parse(b []byte) (n int, err error) {
	if r.next == 0 {
		r.begin()
		if r.next, err = r.statusLine(b); err != nil {
			r.next, err = r.deviantStatusLine(b, err)
		}
		if r.next == 0 || err != nil {
			return 0, err
		}
	}
	if n, err = r.parseFields(b, r.next, dropResponse, true); n == 0 || err != nil {
		return 0, err
	}
	return n, r.finish()
}

// statusLine parses "HTTP/1.x SP 3DIGIT SP reason CRLF" and returns the offset of the next
// line, or 0 if bytes are missing. The second SP may be missing if there is no reason: many
// servers omit it, and the line is unambiguous.
func (r *Response) statusLine(b []byte) (int, error) {
	const start = len("HTTP/1.1 200")
	if len(b) <= start {
		return 0, statusError(b)
	}
	switch binary.LittleEndian.Uint64(b) {
	case http11:
		r.Minor = 1
	case http10:
		r.Minor = 0
	default:
		return 0, statusError(b)
	}
	c, d, u := b[9]-'0', b[10]-'0', b[11]-'0'
	if b[8] != ' ' || c-1 > 4 || d > 9 || u > 9 {
		return 0, ErrStatusLine
	}
	r.Status = int(c)*100 + int(d)*10 + int(u)
	i := start
	switch b[i] {
	case ' ':
		r.bare = false
		i++
	case '\r':
		r.bare = true
	default:
		return 0, ErrStatusLine
	}
	reason := i
	i += textEnd(b[i:])
	if i+1 >= len(b) || b[i] != '\r' || b[i+1] != '\n' {
		return 0, valueError(b, i)
	}
	r.Reason = Span{uint32(reason), uint32(i)}
	return i + 2, nil
}

// finish evaluates the fields of a complete head.
func (r *Response) finish() error {
	if r.faulty = r.framing(); r.faulty != nil {
		if r.have.has(KnownTransferEncoding) {
			r.faulty = r.deviantCoding(r.faulty)
		} else if r.sameLength() {
			r.faulty = nil
		}
	}
	options, err := r.connection()
	if err == ErrConnection {
		if r.allow&LenientConnection == 0 {
			return ErrConnectionForm
		}
	} else if err != nil {
		return err
	}
	if r.have.has(KnownUpgrade) && (r.Status == 101 || r.Status == 426) {
		// 426 must list the requested protocols, 101 the selected one.
		for i := int(r.first[KnownUpgrade]); i < r.NumFields; i++ {
			if r.Fields[i].Known == KnownUpgrade {
				r.Fields[i].state = 0
			}
		}
		r.Upgrade = r.Status == 101 && r.Minor == 1 && options&optUpgrade != 0
	}
	return nil
}

// Body is the framing of a body.
type Body uint8

// The framings.
const (
	BodyNone       Body = iota // no body at all
	BodyLength                 // ContentLength bytes, at least one
	BodyChunked                // Chunked finds the end
	BodyUntilClose             // all bytes until the backend closes
)

// Body returns the framing of the body (RFC 9112 section 6.3); head means that the request
// was HEAD. Responses without a body by definition end with their head, whatever their
// fields say. Contradictory or malformed framing is an error only if a body follows.
func (r *Response) Body(head bool) (Body, error) {
	switch {
	case head || r.bodyless():
		return BodyNone, nil
	case r.faulty != nil:
		return BodyNone, r.faulty
	case r.Chunked:
		return BodyChunked, nil
	case r.ContentLength > 0:
		return BodyLength, nil
	case r.ContentLength == 0:
		return BodyNone, nil
	}
	return BodyUntilClose, nil
}

// bodyless reports whether a response with this status has no body.
func (r *Response) bodyless() bool { return r.Status < 200 || r.Status == 204 || r.Status == 304 }

// Contradicts reports whether a response without a body has forbidden or malformed framing
// fields. The backend then probably sends a body nevertheless, perhaps later, so its
// connection must not be reused. A Content-Length in a 304 or in response to HEAD describes
// another response and is not a contradiction.
func (r *Response) Contradicts(head bool) bool {
	switch {
	case !head && !r.bodyless():
		return false
	case r.faulty != nil:
		return true
	case r.Status < 200 || r.Status == 204:
		return r.Chunked || r.ContentLength > 0
	}
	return r.Status == 304 && r.Chunked
}

// ResponseOptions holds the proxy's changes to a forwarded response.
type ResponseOptions struct {
	Close     bool // adds Connection: close
	KeepAlive bool // adds Connection: keep-alive, for HTTP/1.0 clients that asked for it
	Unchunk   bool // omits Transfer-Encoding: the body is sent decoded (HTTP/1.0 client)

	Extra []byte // additional field lines, made by AppendField
}

// AppendResponse appends the head for the client: the status line as HTTP/1.1, the forwarded
// fields, the additions of o, and the framing. It treats 1xx heads like all others; a 101 keeps
// its Upgrade. Framing that is malformed, or forbidden in a 1xx or 204, is omitted.
func AppendResponse(dst []byte, r *Response, o *ResponseOptions) []byte {
	run := uint32(0)
	if r.Minor == 0 || r.bare {
		dst = strconv.AppendInt(append(dst, "HTTP/1.1 "...), int64(r.Status), 10)
		dst = append(dst, ' ')
		run = r.Reason.Off
	}
	dst = r.appendKept(dst, run, 0)
	if r.Status >= 200 && r.Status != 204 && !(o.Unchunk && r.Chunked) {
		dst = r.appendFraming(dst)
	}
	if upgrade := r.Upgrade || r.Status == 426 && r.have.has(KnownUpgrade); upgrade || o.Close || o.KeepAlive {
		dst = appendResponseConnection(dst, upgrade, o)
	}
	dst = append(dst, o.Extra...)
	return append(dst, "\r\n"...)
}

// appendResponseConnection writes the Connection field; Close takes precedence over
// KeepAlive.
func appendResponseConnection(dst []byte, upgrade bool, o *ResponseOptions) []byte {
	if upgrade || o.Close {
		return appendConnection(dst, upgrade, false, o.Close)
	}
	return append(dst, "Connection: keep-alive\r\n"...)
}

// statusError returns why b does not start with a supported version, or nil if bytes are
// missing.
func statusError(b []byte) error {
	const form = "HTTP/0.0 "
	for i := 0; i < len(form) && i < len(b); i++ {
		if c := b[i]; c != form[i] && (form[i] != '0' || c < '0' || c > '9') {
			return ErrStatusLine
		}
	}
	if len(b) >= len(form) && b[5] != '1' || len(b) >= len(form) && b[7] > '1' {
		return ErrStatusVersion
	}
	return nil
}

// sameLength reports whether the only framing error is a repetition of one length, in lines
// or as a list, and accepts it (RFC 9110 section 8.6). This is for responses only: in a
// request it is probably an attack that relies on two readings.
func (r *Response) sameLength() bool {
	var length []byte
	for i := range r.Fields[:r.NumFields] {
		if r.Fields[i].Known != KnownContentLength {
			continue
		}
		for v := r.Value(i); ; {
			var one []byte
			one, v = cutList(v)
			if length == nil {
				length = one
			}
			if len(one) == 0 || !bytes.Equal(one, length) {
				return false
			}
			if len(v) == 0 {
				break
			}
		}
	}
	return r.length(length) == nil
}
