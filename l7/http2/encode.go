package http2

import (
	"bytes"
	"hash/maphash"

	"github.com/sluicelb/sluice/core/ascii"
)

// encoder encodes HTTP/1 field lines into header blocks (RFC 7541). A field enters the
// dynamic table when it occurs twice. Values that change each time (dates, ETags, request
// IDs) therefore never evict stable ones (Server, Content-Type). Entries are found by the
// whole line as spelled, so that a hit needs no parsing. Huffman code is not used, because
// repeated fields cost one byte anyway.
type encoder struct {
	table    table
	resized  bool       // the size changed since the last block
	emptied  bool       // and had a third value in between
	recently [32]uint32 // hashes of lines that were not in the table
}

// seed makes the hashes unpredictable across processes.
var seed = maphash.MakeSeed()

// resize applies the peer's SETTINGS_HEADER_TABLE_SIZE.
func (e *encoder) resize(size uint32) {
	size = min(size, maxTable)
	if size == e.table.max {
		return
	}
	if e.resized {
		// After two changes since the last block, the smaller size must be sent too; 0
		// covers every case. x/net accepts two updates only if the first empties the table.
		e.emptied = true
		e.table.resize(0)
	}
	e.resized = true
	e.table.resize(size)
}

// begin appends the size updates required at the start of the next block (section 4.2).
func (e *encoder) begin(dst []byte) []byte {
	if !e.resized {
		return dst
	}
	if e.emptied {
		dst = appendInt(dst, sizeUpdate, 5, 0)
	}
	e.resized, e.emptied = false, false
	return appendInt(dst, sizeUpdate, 5, e.table.max)
}

// status appends :status with three digits.
func (e *encoder) status(dst, digits []byte) []byte {
	for i := uint8(staticStatus); i < staticStatus+7; i++ {
		if static[i].line[len(":status: "):][:3] == string(digits) {
			return append(dst, indexed|i)
		}
	}
	var line [len(":status: 200\r\n")]byte
	copy(line[:], ":status: ")
	copy(line[9:], digits)
	copy(line[12:], "\r\n")
	return e.known(dst, line[:], staticStatus)
}

// field appends the field of a line "Name: value CRLF". It skips lines without a name and
// fields that HTTP/2 forbids.
func (e *encoder) field(dst, line []byte) []byte {
	h := uint32(maphash.Bytes(seed, line))
	if k := e.find(line, h); k >= 0 {
		return appendInt(dst, indexed, 7, uint32(k+numStatic+1))
	}
	n := bytes.IndexByte(line, ':')
	var space [64]byte
	name := ascii.AppendLower(space[:0], line[:max(n, 0)])
	if dropped(name) {
		return dst
	}
	return e.miss(dst, line, name, trim(line[n+1:len(line)-2]), staticName[string(name)], h)
}

// known is field for a line whose name is static entry i.
func (e *encoder) known(dst, line []byte, i uint8) []byte {
	h := uint32(maphash.Bytes(seed, line))
	if k := e.find(line, h); k >= 0 {
		return appendInt(dst, indexed, 7, uint32(k+numStatic+1))
	}
	n := static[i].name
	return e.miss(dst, line, line[:n], line[n+2:len(line)-2], i, h)
}

// find returns the position of a line in the dynamic table, or -1.
func (e *encoder) find(line []byte, h uint32) int {
	for k := range e.table.len() {
		if n := e.table.at(k); n.hash == h && bytes.Equal(e.table.line(n), line) {
			return k
		}
	}
	return -1
}

// miss appends a field that is not in the dynamic table. i is the static entry with its
// name, or 0.
func (e *encoder) miss(dst, line, name, value []byte, i uint8, h uint32) []byte {
	switch i {
	case staticAuthorization, staticCookie, staticSetCookie:
		return literal(dst, never, 4, i, name, value) // intermediaries must not index it either
	}
	slot := &e.recently[h%uint32(len(e.recently))]
	size := len(name) + len(value) + entryCost
	if *slot != h || size > int(e.table.max) || len(line) > size { // the line has extra blanks: not worth an entry
		*slot = h
		return literal(dst, 0, 4, i, name, value)
	}
	dst = literal(dst, indexing, 6, i, name, value)
	e.table.add(line, len(name), len(value), kindPlain, h)
	return dst
}

// literal appends a literal representation with the given pattern and prefix.
func literal(dst []byte, pattern byte, prefix int, i uint8, name, value []byte) []byte {
	dst = appendInt(dst, pattern, prefix, uint32(i))
	if i == 0 {
		dst = appendInt(dst, 0, 7, uint32(len(name)))
		dst = append(dst, name...)
	}
	dst = appendInt(dst, 0, 7, uint32(len(value)))
	return append(dst, value...)
}

// teTrailers appends the only TE field allowed in HTTP/2.
func (e *encoder) teTrailers(dst []byte) []byte {
	h := uint32(maphash.Bytes(seed, teLine))
	if k := e.find(teLine, h); k >= 0 {
		return appendInt(dst, indexed, 7, uint32(k+numStatic+1))
	}
	return e.miss(dst, teLine, teLine[:2], teLine[4:len(teLine)-2], 0, h)
}

var teLine = []byte("te: trailers\r\n")

// dropped reports whether a field is forbidden in HTTP/2 (RFC 9113 section 8.2.2) or handled
// elsewhere. The caller writes TE if needed.
func dropped(name []byte) bool {
	switch string(name) {
	case "connection", "transfer-encoding", "keep-alive", "upgrade", "proxy-connection", "te", "host", "http2-settings":
		return true
	}
	return len(name) == 0 || name[0] == ':'
}

// appendInt appends an integer with a prefix of n bits (RFC 7541 section 5.1).
func appendInt(dst []byte, pattern byte, n int, v uint32) []byte {
	limit := uint32(1)<<n - 1
	if v < limit {
		return append(dst, pattern|byte(v))
	}
	dst = append(dst, pattern|byte(limit))
	for v -= limit; v >= 0x80; v >>= 7 {
		dst = append(dst, byte(v)|0x80)
	}
	return append(dst, byte(v))
}

// trim removes blanks from both ends of v.
func trim(v []byte) []byte {
	for len(v) > 0 && blank(v[0]) {
		v = v[1:]
	}
	for len(v) > 0 && blank(v[len(v)-1]) {
		v = v[:len(v)-1]
	}
	return v
}
