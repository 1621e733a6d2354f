package http2

// decoder decodes header blocks into fields (RFC 7541). Its table needs a size before use.
type decoder struct {
	table table
}

// field is a decoded field whose line "name: value CRLF" was appended to a buffer. name and
// value are lengths.
type field struct {
	name, value int
	kind        kind
}

// Patterns of the first byte of a representation (RFC 7541 section 6).
const (
	indexed    = 0x80 // 7 bits of index
	indexing   = 0x40 // 6
	sizeUpdate = 0x20 // 5
	never      = 0x10 // 4
)

// maxUpdates is the number of size updates allowed at the start of a block (section 4.2).
const maxUpdates = 2

// begin consumes the size updates at the start of a block.
func (d *decoder) begin(b []byte) (rest []byte, ok bool) {
	for n := 0; len(b) > 0 && b[0]&0xe0 == sizeUpdate; n++ {
		size, after, ok := readInt(b, 5)
		if !ok || size > maxTable || n == maxUpdates {
			return nil, false
		}
		d.table.resize(size)
		b = after
	}
	return b, true
}

// next decodes the field at the start of b and appends its line to dst. With skip the line
// is only written if the table needs it, because the caller discards it and an attacker must
// not cause copies. false means an invalid block.
func (d *decoder) next(b, dst []byte, skip bool, f *field) (rest, out []byte, ok bool) {
	if b[0]&indexed != 0 {
		i, rest, ok := readInt(b, 7)
		if !ok {
			return nil, dst, false
		}
		if i-1 < numStatic {
			s := &static[i]
			f.name, f.value, f.kind = s.name, s.value, s.kind
			if !skip {
				dst = append(dst, s.line...)
			}
			return rest, dst, true
		}
		i -= numStatic + 1
		if i >= uint32(d.table.len()) {
			return nil, dst, false
		}
		e := d.table.at(int(i))
		f.name, f.value, f.kind = int(e.name), int(e.value), e.kind
		if !skip {
			dst = append(dst, d.table.line(e)...)
		}
		return rest, dst, true
	}
	return d.literal(b, dst, f)
}

// literal decodes a literal field.
func (d *decoder) literal(b, dst []byte, f *field) (rest, out []byte, ok bool) {
	first := b[0]
	prefix := 4
	switch {
	case first&indexing != 0:
		prefix = 6
	case first&sizeUpdate != 0:
		return nil, dst, false // only allowed at the start of a block
	}
	start := len(dst)
	i, b, ok := readInt(b, prefix)
	if !ok {
		return nil, dst, false
	}
	if b, dst, ok = d.literalName(i, b, dst, f); !ok {
		return nil, dst, false
	}
	f.name = len(dst) - start
	dst = append(dst, ": "...)
	value := len(dst)
	if b, dst, ok = readString(b, dst); !ok {
		return nil, dst, false
	}
	f.value = len(dst) - value
	if f.kind != kindBadName && !validValue(dst[value:]) {
		f.kind = kindBadValue
	}
	dst = append(dst, "\r\n"...)
	if first&indexing != 0 {
		d.table.add(dst[start:], f.name, f.value, f.kind, 0)
	}
	return b, dst, true
}

// literalName appends the name of a literal: that of entry i or, if i is 0, the name that
// follows.
func (d *decoder) literalName(i uint32, b, dst []byte, f *field) (rest, out []byte, ok bool) {
	start := len(dst)
	switch {
	case i == 0:
		if b, dst, ok = readString(b, dst); !ok {
			return nil, dst, false
		}
		f.kind = kindOf(dst[start:])
	case i <= numStatic:
		s := &static[i]
		dst = append(dst, s.line[:s.name]...)
		f.kind = s.kind
	default:
		i -= numStatic + 1
		if i >= uint32(d.table.len()) {
			return nil, dst, false
		}
		e := d.table.at(int(i))
		dst = append(dst, d.table.arena[e.off:e.off+uint32(e.name)]...)
		if f.kind = e.kind; f.kind == kindBadValue {
			f.kind = kindOf(dst[start:]) // the other value is invalid, not the name
		}
	}
	return b, dst, true
}

// readInt reads an integer with a prefix of n bits (section 5.1). It refuses integers above
// 26 bits and encodings longer than that, because no valid length needs them.
func readInt(b []byte, n int) (v uint32, rest []byte, ok bool) {
	limit := uint32(1)<<n - 1
	if v = uint32(b[0]) & limit; v < limit {
		return v, b[1:], true
	}
	for i := 1; i < len(b) && i <= 4; i++ {
		c := b[i]
		if i == 4 && c > 0x1f {
			break
		}
		v += uint32(c&0x7f) << (7 * (i - 1))
		if c < 0x80 {
			return v, b[i+1:], true
		}
	}
	return 0, nil, false
}

// readString appends the string at the start of b (section 5.2) to dst.
func readString(b, dst []byte) (rest, out []byte, ok bool) {
	if len(b) == 0 {
		return nil, dst, false
	}
	huffman := b[0]&0x80 != 0
	n, b, ok := readInt(b, 7)
	if !ok || n > uint32(len(b)) {
		return nil, dst, false
	}
	if !huffman {
		return b[n:], append(dst, b[:n]...), true
	}
	dst, ok = appendHuffman(dst, b[:n])
	return b[n:], dst, ok
}
