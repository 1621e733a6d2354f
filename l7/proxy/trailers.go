package proxy

import (
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
)

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
