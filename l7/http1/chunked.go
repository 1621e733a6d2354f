package http1

// Limits of a chunked body.
const (
	maxChunkDigits    = 16       // hex digits of a chunk size
	maxChunkExtension = 256      // bytes of extensions of one chunk
	maxChunkWaste     = 16 << 10 // bytes of extensions in excess of the bytes of data so far
	maxTrailerBytes   = 8 << 10  // bytes of all trailer lines
	trailerNameBytes  = 64       // bytes of a name; longer ones are dropped
)

// Chunked tracks the framing of one chunked body, however its bytes are split. The zero
// value is ready and drops all trailers. It allocates only to keep trailers.
//
//	chunk   = size *extension CRLF data CRLF       the last one has size 0
//	body    = *chunk last-chunk *trailer CRLF      and no data
type Chunked struct {
	remain uint64 // bytes of data outstanding in this chunk
	total  uint64 // bytes of data announced so far; only counted with a limit
	limit  uint64 // of total; 0: none
	waste  int    // extension bytes not yet offset by data
	state  chunkState
	keep   bool // the caller wants trailers
	strip  bool // see FromBackend
	loose  bool // LenientChunkSize
	digits uint8
	extra  uint16 // extension bytes of this chunk

	lines int   // trailer bytes so far
	named uint8 // bytes in name
	taken bool  // the current trailer is kept
	name  [trailerNameBytes]byte
	kept  []byte // kept trailers
}

// chunkState is the expected next byte.
type chunkState uint8

const (
	chunkSize    chunkState = iota // first digit of a size
	chunkDigits                    // more digits or their end
	chunkBlank                     // blanks before an extension
	chunkExt                       // extension
	chunkSizeLF                    // LF of the size line
	chunkData                      // data
	chunkDataCR                    // CR after data
	chunkDataLF                    // its LF
	chunkTrailer                   // first byte of a trailer, or the final CR
	chunkName                      // name of a trailer
	chunkValue                     // value of a trailer
	chunkValueLF                   // its LF
	chunkEndLF                     // final LF
	chunkDone
)

// Reset prepares c for another body. With keep, trailers are kept for Trailer, except those
// that would contradict decisions made from the head.
func (c *Chunked) Reset(keep bool) {
	c.Trim()
	*c = Chunked{keep: keep, kept: c.kept[:0]}
}

// Trim releases memory of rare large trailers.
func (c *Chunked) Trim() {
	if cap(c.kept) > 1<<10 {
		c.kept = nil
	}
}

// Limit refuses bodies of more than n bytes of data. A chunk beyond the limit is refused as
// a whole. n must be below 1<<62. Call Limit after Reset.
func (c *Chunked) Limit(n uint64) { c.limit = min(n, 1<<62) }

// Scan checks the next bytes of the body and cleans them in place: p[:in] was consumed and
// p[:out] must be forwarded. Chunk extensions and trailers are removed; without them in ==
// out and nothing is copied. in is len(p) unless the body ended. Errors are *Error and
// final.
func (c *Chunked) Scan(p []byte) (in, out int, err error) { return c.run(p, false) }

// Decode is Scan for a receiver without chunked: p[:out] is content only. Use either Scan or
// Decode for a body, not both.
func (c *Chunked) Decode(p []byte) (in, out int, err error) { return c.run(p, true) }

// Done reports whether the last CRLF of the body was consumed.
func (c *Chunked) Done() bool { return c.state == chunkDone }

// Trailer returns the bytes to send after the last p[:out] of Scan: the kept trailer lines
// and the final CRLF. It is empty unless Reset(true) was called, the body is done and a
// trailer was kept; only then Scan omits the final CRLF. It is valid until Reset and
// meaningless after Decode.
func (c *Chunked) Trailer() []byte {
	if c.state != chunkDone {
		return nil
	}
	return c.kept
}

// run processes a stretch of data or one byte of framing per iteration. Output is collected
// in runs: p[from:i] is the open one. It is moved down to out only if something before it
// was removed.
func (c *Chunked) run(p []byte, decode bool) (in, out int, err error) {
	from, i := 0, 0
	for i < len(p) && c.state != chunkDone {
		send := true
		n := 1
		if c.state == chunkData {
			if n = len(p) - i; c.remain < uint64(n) {
				n = int(c.remain)
			}
			if c.remain -= uint64(n); c.remain == 0 {
				c.state = chunkDataCR
			}
		} else {
			if send, err = c.step(p[i]); err != nil {
				break
			}
			send = send && !decode
		}
		if !send {
			if from < i {
				out += move(p, out, from, i)
			}
			from = i + n
		}
		i += n
	}
	if from < i {
		out += move(p, out, from, i)
	}
	return i, out, err
}

// move copies p[from:to] to p[out:] and returns its length.
func move(p []byte, out, from, to int) int {
	if out == from {
		return to - from
	}
	return copy(p[out:], p[from:to])
}

// step processes one byte of framing and reports whether it is part of the cleaned body. The
// switch is a state table.
func (c *Chunked) step(b byte) (send bool, err error) {
	switch c.state {
	case chunkSize, chunkDigits:
		return c.sizeByte(b)
	case chunkBlank:
		switch {
		case b == ';':
			c.state = chunkExt
		case b == '\r' && c.loose:
			c.state = chunkSizeLF
			return true, nil
		case b == '\r' && c.strip:
			return false, ErrChunkForm
		case b != ' ' && b != '\t':
			return false, ErrChunkSize
		}
		return false, c.wasted()
	case chunkExt:
		if b == '\r' {
			c.state = chunkSizeLF
			return true, nil
		}
		if b < 0x20 && b != '\t' || b == 0x7f {
			return false, ErrChunkExtension
		}
		return false, c.wasted()
	case chunkSizeLF:
		if b != '\n' {
			return false, ErrChunkSize
		}
		c.state = chunkTrailer
		if c.remain > 0 {
			c.state = chunkData
			if c.limit > 0 {
				if c.total += c.remain; c.total > c.limit {
					return false, ErrBodyTooLong
				}
			}
		}
		c.waste -= int(min(c.remain, uint64(c.waste)))
		return true, nil
	case chunkDataCR, chunkDataLF:
		if c.state == chunkDataCR && b == '\r' {
			c.state = chunkDataLF
		} else if c.state == chunkDataLF && b == '\n' {
			c.state = chunkSize
		} else {
			return false, ErrChunkEnd
		}
		return true, nil
	}
	return c.trailerByte(b)
}

// sizeByte processes a byte of a chunk size or the byte after it.
func (c *Chunked) sizeByte(b byte) (send bool, err error) {
	if isHex(b) {
		if c.state == chunkSize {
			c.state, c.digits, c.extra = chunkDigits, 0, 0
		}
		if c.loose && b == '0' && c.remain == 0 && c.digits > 0 {
			return false, c.wasted() // one zero suffices
		}
		// The sum of all sizes must stay a valid length: the top bit stays clear.
		if c.digits++; c.digits > maxChunkDigits || c.remain >= 1<<59 {
			if c.strip && c.remain < 1<<59 {
				return false, ErrChunkForm // so it begins with zeros
			}
			return false, ErrChunkSize
		}
		c.remain = c.remain<<4 | uint64(unhex(b))
		return true, nil
	}
	if c.state == chunkSize {
		return false, ErrChunkSize
	}
	switch b {
	case '\r':
		c.state = chunkSizeLF
		return true, nil
	case ';':
		c.state = chunkExt
	case ' ', '\t':
		c.state = chunkBlank
	default:
		return false, ErrChunkSize
	}
	return false, c.wasted()
}

// wasted counts a byte of an extension. Tiny chunks with long extensions cost much for
// little data; data offsets them.
func (c *Chunked) wasted() error {
	c.extra++
	c.waste++
	if c.extra > maxChunkExtension || c.waste > maxChunkWaste {
		return ErrChunkExtension
	}
	return nil
}

// trailerByte processes a byte of the trailer section, including the last CRLF.
func (c *Chunked) trailerByte(b byte) (send bool, err error) {
	if c.lines++; c.lines > maxTrailerBytes {
		return false, ErrTrailerTooLong
	}
	switch c.state {
	case chunkTrailer:
		if b == '\r' {
			c.state = chunkEndLF
			return len(c.kept) == 0, nil
		}
		if c.strip && c.named > 0 && isBlank(b) {
			c.unfold()
			return false, nil
		}
		c.named = 0
		c.state = chunkName
		fallthrough
	case chunkName:
		return false, c.nameByte(b)
	case chunkValue:
		if b == '\r' {
			c.state = chunkValueLF
		} else if b < 0x20 && b != '\t' || b == 0x7f {
			return false, ErrTrailer
		}
	case chunkValueLF:
		if b != '\n' {
			return false, ErrTrailer
		}
		c.state = chunkTrailer
	case chunkEndLF:
		if b != '\n' {
			return false, ErrTrailer
		}
		c.state = chunkDone
		if len(c.kept) == 0 {
			return true, nil
		}
		c.kept = append(c.kept, "\r\n"...)
		return false, nil
	}
	if c.taken {
		c.kept = append(c.kept, b)
	}
	return false, nil
}

// unfold continues the previous trailer: a blank replaces the line end, as in a head.
func (c *Chunked) unfold() {
	c.state = chunkValue
	if c.taken {
		c.kept = append(c.kept[:len(c.kept)-2], ' ')
	}
}

// nameByte processes a byte of a trailer name, or the colon after it.
func (c *Chunked) nameByte(b byte) error {
	if token[b] != tokenNot {
		if c.named < trailerNameBytes {
			c.name[c.named] = b
			c.named++
		}
		return nil
	}
	if b != ':' || c.named == 0 {
		return ErrTrailer
	}
	name := c.name[:c.named]
	k, _ := recognise(c.name[:], len(name))
	forbidden := forbiddenTrailer.has(k)
	if forbidden && !c.strip {
		return ErrTrailerField
	}
	c.state = chunkValue
	c.taken = c.keep && !forbidden && c.named < trailerNameBytes
	if c.taken {
		c.kept = append(append(c.kept, name...), ':')
	}
	return nil
}
