package http1

import (
	"bytes"
	"encoding/binary"
	"strconv"
)

// Response is the head of a response. Upgrade means status 101 with
// Connection: upgrade and an Upgrade field. KeepAlive says what the head says;
// a body that ends with the connection overrides it.
type Response struct {
	Head

	Status int // 100-599; to 999 with LenientStatus
	Reason Span

	bare   bool   // the status line is written anew, e.g. because no SP is after the status
	lines  []byte // the head with CRLF, if it came with LF
	faulty error  // what is wrong with the framing fields, which matters only if a body follows
}

// Parse reads a response head from the start of b, as Request.Parse does. The
// line ends within a folded field are overwritten with blanks in b itself: what
// comes of the head is to be read into the same bytes.
// Errors are *Error, to be answered 502 whatever their Status says.
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

// parse is Parse within the limit of a head. Lines that were read stay read;
// an error makes n void.
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

// statusLine reads "HTTP/1.x SP 3DIGIT SP reason CRLF" and answers where the
// next line starts, 0 when bytes are missing. A missing second SP is let pass
// when the reason is missing too: many servers write that, and it has one
// reading only.
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

// finish decides what the fields of a whole head mean.
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
		// 426 must name the protocols it wants, 101 the one it switched to.
		for i := int(r.first[KnownUpgrade]); i < r.NumFields; i++ {
			if r.Fields[i].Known == KnownUpgrade {
				r.Fields[i].state = 0
			}
		}
		r.Upgrade = r.Status == 101 && r.Minor == 1 && options&optUpgrade != 0
	}
	return nil
}

// Body is how the end of a body is found.
type Body uint8

// The ways.
const (
	BodyNone       Body = iota // no body at all
	BodyLength                 // ContentLength bytes, at least one
	BodyChunked                // Chunked finds the end
	BodyUntilClose             // all bytes until the backend closes
)

// Body returns how the body that follows is framed (RFC 9112 section 6.3); head
// tells that the request was a HEAD. Responses that have no body by definition end
// with their head, whatever its fields say. Only a response that has one can fail
// for contradictory or malformed framing.
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

// bodyless reports whether the status alone says that no body follows.
func (r *Response) bodyless() bool { return r.Status < 200 || r.Status == 204 || r.Status == 304 }

// Contradicts reports whether a response without a body has framing fields that it
// must not have or that are malformed. The backend then probably sends a body all
// the same, perhaps later: nothing else may be read from its connection. A
// Content-Length in response to HEAD or in a 304 is that of another response, and
// no contradiction.
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

// ResponseOptions is what the proxy changes in a response it sends on.
type ResponseOptions struct {
	Close     bool // adds Connection: close
	KeepAlive bool // adds Connection: keep-alive, for HTTP/1.0 clients that asked for it
	Unchunk   bool // leaves Transfer-Encoding out: the body is sent decoded (HTTP/1.0 client)

	Extra []byte // more field lines, made by AppendField
}

// AppendResponse appends the head the client gets: the status line as
// HTTP/1.1, the fields that are not dropped, what o adds, and the framing. 1xx
// heads are written like all others; a 101 keeps its Upgrade. Framing that a
// 1xx or 204 must not have is left out, and so is malformed framing.
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

// appendResponseConnection writes the Connection field; Close outranks KeepAlive.
func appendResponseConnection(dst []byte, upgrade bool, o *ResponseOptions) []byte {
	if upgrade || o.Close {
		return appendConnection(dst, upgrade, false, o.Close)
	}
	return append(dst, "Connection: keep-alive\r\n"...)
}

// statusError says why b does not start with a version we speak; nil means
// that bytes are missing.
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

// sameLength reports whether what is wrong with the framing is only that one
// length is given several times, in lines or as a list, and takes it then (RFC
// 9110 section 8.6). It is for answers: a request that says so is somebody's try
// to be read in two ways.
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
