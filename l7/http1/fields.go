package http1

// parseFields reads field lines from b[i:] until the blank line; h.next is
// where it stopped when bytes are missing. It answers the length of the head,
// or 0.
//
// A line is name ":" blanks value blanks CRLF. Everything the loop does not
// expect ends up in fieldError, which only has to find the fitting reason.
func (h *Head) parseFields(b []byte, i int, drop mask) (int, error) {
	for {
		start := i
		kinds := uint8(0)
		for i < len(b) && token[b[i]] != 0 {
			kinds |= token[b[i]]
			i++
		}
		colon := i
		if i >= len(b) || b[i] != ':' || i == start {
			if i+1 < len(b) && i == start && b[i] == '\r' && b[i+1] == '\n' {
				return i + 2, nil
			}
			h.next = start
			return 0, nameError(b, start, i)
		}
		if h.NumFields == MaxFields {
			return 0, ErrTooManyFields
		}
		i++
		for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
			i++
		}
		value := i
		i = firstControl(b, i)
		for i < len(b) && b[i] == '\t' {
			i = firstControl(b, i+1)
		}
		if i+1 >= len(b) || b[i] != '\r' || b[i+1] != '\n' {
			h.next = start
			return 0, valueError(b, i)
		}
		end := i
		for end > value && (b[end-1] == ' ' || b[end-1] == '\t') {
			end--
		}
		i += 2

		k := recognise(b[start:colon], kinds)
		f := &h.Fields[h.NumFields]
		f.Name = Span{uint32(start), uint32(colon)}
		f.Value = Span{uint32(value), uint32(end)}
		f.Known = k
		f.Drop = drop.has(k)
		if h.have.has(k) {
			h.twice |= 1 << (k & 63)
		} else {
			h.have |= 1 << (k & 63)
			h.first[k] = uint16(h.NumFields)
		}
		h.NumFields++
	}
}

// nameError says why b[start:] is not a field name and a colon; it stopped at
// b[i]. nil means that bytes are missing.
func nameError(b []byte, start, i int) error {
	if i >= len(b) || b[i] == '\r' && i == start && i+1 >= len(b) {
		return nil
	}
	switch c := b[i]; {
	case c == '\n', c == '\r' && i == start:
		return ErrLineEnd
	case i == start && (c == ' ' || c == '\t'):
		return ErrFold
	}
	return ErrFieldName
}

// valueError says why the value that stopped at b[i] does not end in CRLF. nil
// means that bytes are missing.
func valueError(b []byte, i int) error {
	if i >= len(b) || b[i] == '\r' && i+1 >= len(b) {
		return nil
	}
	if b[i] == '\r' || b[i] == '\n' {
		return ErrLineEnd
	}
	return ErrFieldValue
}

// framing finds the length of the body from Content-Length and
// Transfer-Encoding (RFC 9112 section 6.3), which must not both be there.
func (h *Head) framing() error {
	const both = 1<<KnownContentLength | 1<<KnownTransferEncoding
	if h.have&both == 0 {
		return nil
	}
	if h.have.has(KnownTransferEncoding) {
		switch {
		case h.have.has(KnownContentLength):
			return ErrCodingLength
		case h.Minor == 0:
			return ErrCodingVersion
		case h.twice.has(KnownTransferEncoding),
			!foldIsText(h.Value(int(h.first[KnownTransferEncoding])), "chunked"):
			return ErrCoding
		}
		h.Chunked = true
		return nil
	}
	if h.twice.has(KnownContentLength) {
		return ErrLengthRepeated
	}
	v := h.Value(int(h.first[KnownContentLength]))
	if len(v) == 0 || len(v) > 18 { // 18 digits fit an int64
		return ErrLength
	}
	n := int64(0)
	for _, c := range v {
		if c -= '0'; c > 9 {
			return ErrLength
		}
		n = n*10 + int64(c)
	}
	h.ContentLength = n
	return nil
}

// foldIsText is foldIs for bytes that may be any.
func foldIsText(b []byte, s string) bool { return len(b) == len(s) && equalLower(b, s) }

// Connection options (RFC 9110 section 7.6.1).
const (
	optClose = 1 << iota
	optKeepAlive
	optUpgrade
	optTE
)

// maxNamed bounds the fields a head may name in Connection: each is compared
// with every field, which must not become work for an attacker to order.
const maxNamed = 16

// connection reads all Connection fields, sets KeepAlive and marks the fields
// they name as not to be forwarded.
func (h *Head) connection() (options uint8, err error) {
	if h.have.has(KnownConnection) {
		named := 0
		for i := int(h.first[KnownConnection]); i < h.NumFields; i++ {
			if h.Fields[i].Known == KnownConnection {
				if options, named, err = h.options(h.Value(i), options, named); err != nil {
					return 0, err
				}
			}
		}
	}
	h.KeepAlive = options&optClose == 0 && (h.Minor == 1 || options&optKeepAlive != 0)
	return options, nil
}

// options reads one Connection value.
func (h *Head) options(v []byte, options uint8, named int) (uint8, int, error) {
	for len(v) > 0 {
		i := 0
		for i < len(v) && v[i] != ',' {
			i++
		}
		t := trim(v[:i])
		v = v[min(i+1, len(v)):]
		switch {
		case len(t) == 0: // empty list elements are to be ignored
		case foldIs(t, "keep-alive"):
			options |= optKeepAlive
		case foldIs(t, "close"):
			options |= optClose
		case !isToken(t):
			return 0, 0, ErrConnection
		case foldIs(t, "upgrade"):
			options |= optUpgrade
		case foldIs(t, "te"):
			options |= optTE
		default:
			if named++; named > maxNamed {
				return 0, 0, ErrConnection
			}
			h.dropNamed(t)
		}
	}
	return options, named, nil
}

// dropNamed keeps fields called name from being forwarded.
func (h *Head) dropNamed(name []byte) {
	for i := range h.Fields[:h.NumFields] {
		if f := &h.Fields[i]; !unnamed.has(f.Known) && foldEqual(h.Name(i), name) {
			f.Drop = true
		}
	}
}
