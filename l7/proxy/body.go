package proxy

import (
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/http2"
	"github.com/sluicelb/sluice/l7/rewrite"
)

// body follows one message body through the proxy.
type body struct {
	kind    http1.Body
	left    int64 // of a counted body
	chunked http1.Chunked
	bare    bool // it comes as it is, and its end by itself: see end
}

// clear makes it the body of no message.
func (b *body) clear() {
	if b.bare || b.kind == http1.BodyChunked {
		b.chunked.Trim()
	}
	b.kind, b.left, b.bare = http1.BodyNone, 0, false
}

// start begins the body of a message with the given framing. Trailers are
// for a receiver that gets chunks.
func (b *body) start(kind http1.Body, h *http1.Head, trailers bool) {
	b.kind, b.left, b.bare = kind, 0, false
	switch kind {
	case http1.BodyLength:
		b.left = h.ContentLength
	case http1.BodyChunked:
		b.chunked.Reset(trailers)
		b.chunked.Allow(h.Trailers())
	}
}

// startAnswer begins the body of an answer.
func (b *body) startAnswer(kind http1.Body, h *http1.Head, trailers bool) {
	b.start(kind, h, trailers)
	b.chunked.FromBackend()
}

// take looks at the next bytes: p[:in] belong to the body and p[:out], which
// may be fewer, are to be sent on. unchunk removes chunk framing.
func (b *body) take(p []byte, unchunk bool) (in, out int, err error) {
	if b.bare && b.kind == http1.BodyChunked {
		return len(p), len(p), nil
	}
	switch b.kind {
	case http1.BodyLength:
		n := int(min(int64(len(p)), b.left))
		b.left -= int64(n)
		return n, n, nil
	case http1.BodyChunked:
		if unchunk {
			return b.chunked.Decode(p)
		}
		return b.chunked.Scan(p)
	case http1.BodyUntilClose:
		return len(p), len(p), nil
	}
	return 0, 0, nil
}

// unframe says that the body of an answer comes without chunks, and that its end is told by
// end: trailers may follow it even if its length is known. all lets all of those
// pass.
func (b *body) unframe(trailers, all bool) {
	b.bare = true
	if b.kind != http1.BodyChunked {
		b.kind = http1.BodyLength // of none, too, the end is still to come
		b.chunked.Reset(trailers)
		b.chunked.FromBackend()
	}
	if all {
		b.chunked.AllowAll()
	}
}

// end ends a body that came without chunks. Its trailers are judged like those
// behind chunks; scratch is used up.
func (b *body) end(scratch, trailers []byte) ([]byte, error) {
	scratch = http2.AppendLastChunk(scratch[:0], trailers)
	_, _, err := b.chunked.Decode(scratch)
	return scratch, err
}

// done reports whether the last byte of the body was taken. A body that lasts
// until its connection closes is never done by its bytes.
func (b *body) done() bool {
	switch b.kind {
	case http1.BodyLength:
		return b.left == 0 && (!b.bare || b.chunked.Done())
	case http1.BodyChunked:
		return b.chunked.Done()
	case http1.BodyUntilClose:
		return false
	}
	return true
}

// trailer is what follows the last p[:out] of a chunked body.
func (b *body) trailer() []byte {
	if (b.bare || b.kind == http1.BodyChunked) && b.chunked.Done() {
		return b.chunked.Trailer()
	}
	return nil
}

// Trailers are fields that come late: many backends and clients put them beside
// those of the head. So what rules take out of heads or change in them, they take
// out of trailers and change in those too, and the field a service takes its keys
// from cannot be sent behind the body, where nobody has checked it.

// trailers is what one loop needs to apply rules to trailers.
type trailers struct {
	head http1.Head
	kept []byte
}

// requestTrailer is what follows the last chunk of the request's body. It is good
// until the next call on the loop.
func (ex *exchange) requestTrailer() []byte {
	t := ex.request.trailer()
	rules, auth, farm := ex.service.Request, ex.service.Auth, ex.farm.Remove
	if len(t) == 0 || rules == nil && farm == nil && (auth == nil || auth.Keys == nil) {
		return t
	}
	return ex.w.filter(t, !ex.service.Multiplexed, func(h *http1.Head, s *rewrite.Scratch) error {
		if farm != nil {
			farm.Remove(h, s)
		}
		if err := rules.Apply(h, s); err != nil {
			return err
		}
		if auth != nil && auth.Keys != nil { // the backend gets the one that was checked, or none
			for i := h.Lookup(auth.Header); i >= 0; i = h.Lookup(auth.Header) {
				h.Remove(i)
			}
		}
		return nil
	})
}

// answerTrailer is requestTrailer for the answer.
func (ex *exchange) answerTrailer() []byte {
	t := ex.response.trailer()
	rules := ex.service.Response
	if len(t) == 0 || rules == nil {
		return t
	}
	return ex.w.filter(t, !ex.unframed(), rules.Apply)
}

// filter applies rules to trailers. Where nothing is left of them chunks still end
// with an empty line; where rules make one too long none is.
func (w *worker) filter(t []byte, chunks bool, rules func(*http1.Head, *rewrite.Scratch) error) []byte {
	if w.trailers == nil {
		w.trailers = new(trailers)
	}
	kept, h := w.trailers.kept[:0], &w.trailers.head
	w.rewrite.Reset() // heads that were changed are written
	if h.ParseTrailers(t) && rules(h, &w.rewrite) == nil {
		kept = h.AppendTrailers(kept)
	}
	if len(kept) == 0 && chunks {
		kept = append(kept, "\r\n"...)
	}
	w.trailers.kept = kept
	return kept
}
