package proxy

import (
	"bytes"

	"github.com/sluicelb/sluice/l7/compress"
)

const (
	// compressedRead bounds a read of data that may be compressed.
	compressedRead = 64 << 10
	// chunkRoom is space for the size of a chunk and its CRLF.
	chunkRoom = "00000000\r\n"
	// keepEncoded bounds the memory kept for encoded bytes between turns. Encoders rarely
	// return all their held-back output at once.
	keepEncoded = 256 << 10
)

// answer sends head and the encoded form of p, the content so far. Unless the body is
// complete, output held back by the encoder follows when the backend pauses.
func (e *encoding) answer(ex *exchange, head, p []byte) bool {
	out, err := e.encode(ex, head, p, false)
	if err != nil {
		ex.drop()
		ex.fail(500)
		return false
	}
	defer ex.w.keepEncoded()
	if ex.peer.Frames {
		ex.countAnswer(len(head)+len(p), len(head)+len(out))
		return ex.beginAnswer(head, out, withoutDigests(ex.answerTrailer()))
	}
	ex.countAnswer(len(head)+len(p), len(out))
	return ex.beginAnswer(out, nil, nil)
}

// send sends the encoded form of p, more of the content. flush makes the encoder
// return all output, as does the end of the body.
func (e *encoding) send(ex *exchange, p []byte, flush bool) error {
	out, err := e.encode(ex, nil, p, flush)
	if err != nil {
		return err
	}
	ex.stats().BytesOut += uint64(len(out))
	ex.record.moved(0, uint64(len(out)))
	var t []byte
	if ex.peer.Frames {
		t = withoutDigests(ex.answerTrailer())
	}
	err = ex.client.WriteBody(out, ex.response.done(), t)
	ex.w.keepEncoded()
	return err
}

// encode returns the bytes to send for p: prefix, one chunk and, if the body is done, the
// last chunk. HTTP/2 streams get neither prefix nor chunks. The result is valid until the
// next call on the loop.
func (e *encoding) encode(ex *exchange, prefix, p []byte, flush bool) (out []byte, err error) {
	w := ex.w
	framed := !ex.peer.Frames
	out = w.encoded[:0]
	if framed {
		out = append(append(out, prefix...), chunkRoom...)
	}
	start := len(out)
	out, err = e.encoder.Write(out, p)
	switch {
	case err != nil:
	case ex.response.done():
		out, err = e.encoder.Close(out)
	case flush:
		out, err = e.encoder.Flush(out)
	}
	n := len(out) - start
	s := ex.stats()
	s.CompressIn += uint64(len(p))
	s.CompressOut += uint64(n)
	if framed {
		return e.frame(ex, out, len(prefix), n), err
	}
	w.encoded = out[:0]
	return out, err
}

// frame turns the last n bytes of out into a chunk. They are preceded by the prefix and room
// for the size; the prefix moves up if the size needs less.
func (e *encoding) frame(ex *exchange, out []byte, prefix, n int) []byte {
	pad := 0
	if n == 0 {
		out = out[:prefix]
	} else {
		const digits = "0123456789abcdef"
		at := prefix + len(chunkRoom) - 2
		for size := n; size > 0; size >>= 4 {
			at--
			out[at] = digits[size&15]
		}
		pad = at - prefix
		copy(out[pad:at], out[:prefix])
		out = append(out, "\r\n"...)
	}
	if ex.response.done() {
		out = append(out, "0\r\n"...)
		if t := withoutDigests(ex.answerTrailer()); len(t) > 0 {
			out = append(out, t...)
		} else {
			out = append(out, "\r\n"...)
		}
	}
	ex.w.encoded = out[:0]
	return out[pad:]
}

// flush sends the output held back by the encoder, because the backend pauses and the
// client may be waiting for it.
func (e *encoding) flush(ex *exchange) bool {
	if !e.encoder.Holds() {
		return true
	}
	if e.send(ex, nil, true) != nil {
		ex.ClientGone()
		return false
	}
	return true
}

// withoutDigests returns the trailer t without digests of the backend's bytes. It modifies t.
func withoutDigests(t []byte) []byte {
	for at := 0; at < len(t); {
		end := at + bytes.IndexByte(t[at:], '\n') + 1
		name := t[at : at+max(bytes.IndexByte(t[at:end], ':'), 0)]
		if !isDigest(name) && !compress.Is(name, "etag") {
			at = end
			continue
		}
		t = t[:at+copy(t[at:], t[end:])]
	}
	if len(t) == len("\r\n") {
		return nil // no line is left
	}
	return t
}

// release returns the encoder to the pool, whether or not the body is complete.
func (e *encoding) release(w *worker) {
	w.encoders.Put(e.encoder)
	e.encoder = nil
}

// keepEncoded releases memory that is rarely needed.
func (w *worker) keepEncoded() {
	if cap(w.encoded) > keepEncoded {
		w.encoded = nil
	}
}
