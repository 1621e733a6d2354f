package proxy

import (
	"bytes"

	"github.com/sluicelb/sluice/l7/compress"
)

const (
	// compressedRead bounds what is read at once when it may be compressed.
	compressedRead = 64 << 10
	// chunkRoom is space for the size of a chunk and its CRLF.
	chunkRoom = "00000000\r\n"
	// keepEncoded is how much memory is kept for encoded bytes between turns.
	// What encoders held back may come at once, but not often.
	keepEncoded = 256 << 10
)

// answerEncoded sends head and what the encoder gives for p, the content that
// has come so far. Only when that is all is it a whole body: else what the
// encoder holds back follows when the backend pauses.
func (ex *exchange) answerEncoded(head, p []byte) bool {
	out, err := ex.encode(head, p, false)
	if err != nil {
		ex.drop()
		ex.fail(500)
		return false
	}
	defer ex.w.keepEncoded()
	if ex.peer.Frames {
		ex.countAnswer(len(head)+len(p), len(head)+len(out))
		return ex.beginAnswer(head, out, ex.trailerEncoded())
	}
	ex.countAnswer(len(head)+len(p), len(out))
	return ex.beginAnswer(out, nil, nil)
}

// sendEncoded sends what the encoder gives for p, more of the content. flush
// makes it give all it has; at the end of the body it does.
func (ex *exchange) sendEncoded(p []byte, flush bool) error {
	out, err := ex.encode(nil, p, flush)
	if err != nil {
		return err
	}
	ex.stats().BytesOut += uint64(len(out))
	ex.recordMoved(0, uint64(len(out)))
	var t []byte
	if ex.peer.Frames {
		t = ex.trailerEncoded()
	}
	err = ex.client.WriteBody(out, ex.response.done(), t)
	ex.w.keepEncoded()
	return err
}

// encode gives what is to be sent for p: prefix, then one chunk, then the last
// one if the body is done. A stream of HTTP/2 gets neither prefix nor chunks. The
// result is good until the next call on the loop.
func (ex *exchange) encode(prefix, p []byte, flush bool) (out []byte, err error) {
	e, w := ex.encoder, ex.w
	framed := !ex.peer.Frames
	out = w.encoded[:0]
	if framed {
		out = append(append(out, prefix...), chunkRoom...)
	}
	start := len(out)
	out, err = e.Write(out, p)
	switch {
	case err != nil:
	case ex.response.done():
		out, err = e.Close(out)
	case flush:
		out, err = e.Flush(out)
	}
	n := len(out) - start
	s := ex.stats()
	s.CompressIn += uint64(len(p))
	s.CompressOut += uint64(n)
	if framed {
		return ex.frame(out, len(prefix), n), err
	}
	w.encoded = out[:0]
	return out, err
}

// frame makes a chunk of the last n bytes of out, before which there are a
// prefix and room for the size. The prefix moves up to a size that needs less.
func (ex *exchange) frame(out []byte, prefix, n int) []byte {
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
		if t := ex.trailerEncoded(); len(t) > 0 {
			out = append(out, t...)
		} else {
			out = append(out, "\r\n"...)
		}
	}
	ex.w.encoded = out[:0]
	return out[pad:]
}

// flushEncoded sends what the encoder holds back, because the backend pauses
// and its client may be waiting for what was said last.
func (ex *exchange) flushEncoded() bool {
	if !ex.encoder.Holds() {
		return true
	}
	if ex.sendEncoded(nil, true) != nil {
		ex.ClientGone()
		return false
	}
	return true
}

// trailerEncoded is the trailer of the body without what was computed over the
// backend's bytes. It is taken apart for that: once only.
func (ex *exchange) trailerEncoded() []byte {
	t := ex.answerTrailer()
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
		return nil // nothing is left
	}
	return t
}

// returnEncoder gives the encoder back, whether the body is complete or not.
func (ex *exchange) returnEncoder() {
	ex.w.encoders.Put(ex.encoder)
	ex.encoder = nil
}

// keepEncoded lets go of memory that is rarely needed.
func (w *worker) keepEncoded() {
	if cap(w.encoded) > keepEncoded {
		w.encoded = nil
	}
}
