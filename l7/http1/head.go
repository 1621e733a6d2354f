package http1

import "bytes"

// Limits of a head. Each is checked before the bytes beyond it are looked at.
const (
	MaxFields = 128      // field lines; more are answered 431
	MaxHead   = 64 << 10 // bytes of a head with its blank line; more are answered 431
	MaxTarget = 16 << 10 // bytes of a request target, raw and canonical; more are answered 414
	MaxMethod = 32       // bytes of a method; more are answered 501
	MaxHost   = 255      // bytes of a host name without its port

	// maxLine is more than a request line can have without exceeding a limit.
	maxLine = 2 + MaxMethod + 1 + MaxTarget + 1 + len("HTTP/1.1\r\n")
)

// Span is a range of the bytes of a head: b[Off:End].
type Span struct{ Off, End uint32 }

// Of gives the bytes of s in b, the buffer that holds the head.
func (s Span) Of(b []byte) []byte { return b[s.Off:s.End] }

// Len is the number of bytes of s.
func (s Span) Len() int { return int(s.End - s.Off) }

// Field is one field line of a head.
type Field struct {
	Name  Span  // as the peer spelled it
	Value Span  // without surrounding blanks
	Known Known // which of the fields we care about, KnownNone otherwise
	state state // 0: copied as it stands
}

// Head is what requests and responses have in common. Spans are offsets into
// Buf; entries of Fields from NumFields on are stale.
type Head struct {
	Buf       []byte // the bytes of the head, borrowed from the caller of Parse
	Len       int    // bytes of the head with its blank line, and an empty line before it
	NumFields int
	Fields    [MaxFields]Field
	Minor     uint8 // 0 or 1: HTTP/1.0 or HTTP/1.1

	ContentLength int64 // -1 when not given
	Chunked       bool  // Transfer-Encoding: chunked
	KeepAlive     bool  // the peer leaves its connection open after this exchange
	Upgrade       bool  // see Request and Response

	next int // start of the first line not parsed yet; 0: nothing is parsed
	seen int // bytes that were there when the last Parse asked for more

	have, twice mask      // known fields present, present more than once
	first       [64]uint8 // index of the first field of each kind in have

	values [MaxFields][]byte // of the fields Edit gave another value
}

// Name gives the name of field i as the peer spelled it.
func (h *Head) Name(i int) []byte { return h.Fields[i].Name.Of(h.Buf) }

// Value gives the value of field i without surrounding blanks: the one Edit
// gave it, if it did.
func (h *Head) Value(i int) []byte {
	if f := &h.Fields[i]; f.state&edited == 0 {
		return f.Value.Of(h.Buf)
	}
	return h.values[i]
}

// Find gives the index of the first field that is k, -1 when there is none. It
// takes constant time.
func (h *Head) Find(k Known) int {
	if h.have.has(k) {
		return int(h.first[k])
	}
	return -1
}

// Lookup gives the index of the first field called name, which must be in
// lower case, -1 when there is none. It compares every field: for names that
// are not Known.
func (h *Head) Lookup(name string) int { return h.LookupFrom(name, 0) }

// LookupFrom is Lookup among the fields from index i on.
func (h *Head) LookupFrom(name string, i int) int {
	for ; i < h.NumFields; i++ {
		if n := h.Name(i); len(n) == len(name) && equalLower(n, name) && h.Fields[i].state&removed == 0 {
			return i
		}
	}
	return -1
}

func equalLower(b []byte, s string) bool {
	for i, c := range b {
		if lower(c) != s[i] {
			return false
		}
	}
	return true
}

// Reset forgets what is left of an incomplete head. It is needed only when a
// head for which Parse answered 0, nil is given up for another connection's.
func (h *Head) Reset() { h.next, h.seen = 0, 0 }

// NeedMore reports that b cannot hold a whole head yet, given that Parse of
// b[:seen] asked for more bytes. It looks only at b[seen:]: a caller that shares
// one Request between connections keeps seen per connection and calls Parse
// only when NeedMore is false, which keeps a head that comes byte by byte from
// being read again and again. A Request that is not shared does this by itself.
func NeedMore(b []byte, seen int) bool {
	if seen > len(b) || seen < MaxMethod+1 || len(b) >= MaxHead || seen < maxLine && len(b) >= maxLine {
		return false // garbage and limits are to be noticed at once
	}
	return bytes.IndexByte(b[seen:], '\n') < 0
}

// Parse of either kind of head is waits, then parse for the lines of its kind,
// then settle. The two parse methods stay apart, a few lines each: joined by an
// interface they were never faster and in some runs 5 % slower.

// waits reports that b cannot hold a whole head yet, whatever it is.
func (h *Head) waits(b []byte) bool {
	if h.seen > len(b) {
		h.Reset() // these cannot be the same bytes and more
	}
	if h.seen == 0 || !NeedMore(b, h.seen) {
		return false
	}
	h.seen = len(b)
	return true
}

// settle gives what Parse answers after reading b came to n and err, and makes
// h ready for the bytes to come: the rest of this head or the next one.
func (h *Head) settle(b []byte, n int, err error) (int, error) {
	if n == 0 && err == nil {
		if len(b) < MaxHead {
			h.seen = len(b)
			return 0, nil
		}
		err = ErrHeadTooLong
	}
	h.Reset()
	if err != nil {
		return 0, err
	}
	return n, nil
}

// begin makes h ready for the first line of a head.
func (h *Head) begin() {
	h.NumFields = 0
	h.have, h.twice = 0, 0
	h.ContentLength = -1
	h.Chunked, h.KeepAlive, h.Upgrade = false, false, false
}
