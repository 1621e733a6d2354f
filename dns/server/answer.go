package server

import (
	"errors"

	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/dns/wire"
)

// amplified is the maximum ratio of answer to query size for clients whose address may be
// spoofed. A client without a valid server cookie retries by TCP. A signed denial needs up
// to nine times its query (see ARCHITECTURE.md, "The path of a query").
const amplified = 10

// answer answers one message from the sender in w.query. The result uses space, and is empty
// if there is no answer.
func (w *worker) answer(f *farmTable, msg, space []byte) []byte {
	q, s := &w.query, w.shard.Farm(f.id)
	w.limited = false
	verdict, code := q.Parse(msg)
	if verdict == wire.Drop {
		s.NoMessages++
		return nil
	}
	if !q.TCP {
		f.server.Verify(q)
	}
	if f.limited.queries && !w.mayAsk(f, q) {
		w.limited = true
		if verdict == wire.Fail || q.TCP || q.Verified || !w.slips(f) {
			s.LimitedAsks++
			return nil
		}
		s.SlippedAsks++
		r := &w.reply
		r.Begin(q, msg, space, wire.LargestUDP)
		r.Truncate(q)
		return r.End(q, &f.server)
	}
	if verdict == wire.Fail {
		s.BadMessages++
		return wire.Failure(q, code, &f.server, space)
	}
	s.Queries++
	if q.TCP {
		s.QueriesTCP++
	}
	room := w.room(q, len(msg))
	w.chooser.Last.Service, w.chooser.Last.Count = 0, 0
	r := &w.reply
	var signs *rdata.Exchange
	if q.TSIGAt != 0 {
		var refusal []byte
		var err error
		if signs, refusal, err = rdata.Verified(msg, f.keys); err != nil {
			s.RefusedNames++
			r.Begin(q, msg, space, room)
			answer := in(space, refusal)
			r.Rcode, w.note = wire.NotAuth, notVerified(err)
			w.record(f, len(msg), len(answer), 0)
			w.note = ""
			return answer
		}
		room -= signs.Size()
	}
	r.Begin(q, msg, space, room)
	w.resolve(f, r, signs)
	if f.limited.answers && !q.Verified && !w.mayHave(f, q, r) {
		if !w.slips(f) {
			s.LimitedAsks++
			return nil
		}
		s.SlippedAsks++
		r.Truncate(q)
	}
	count(s, r)
	w.countChoice(s)
	answer := r.End(q, &f.server)
	if signs != nil {
		answer = in(space, signs.Sign(answer))
	}
	w.record(f, len(msg), len(answer), 0)
	return answer
}

// notVerified describes the error of rdata.Verified.
func notVerified(err error) string {
	switch {
	case errors.Is(err, rdata.ErrBadKey):
		return "the farm has no key of that name and algorithm (transfer_keys): BADKEY"
	case errors.Is(err, rdata.ErrBadSig):
		return "the signature does not match the key (transfer_keys): BADSIG"
	case errors.Is(err, rdata.ErrBadTime):
		return "the signature is from another time, clocks may differ by 5 minutes: BADTIME"
	}
	return "the signed message is malformed"
}

// slips reports whether a query over a limit gets a truncated answer, so that a client whose
// net is being spoofed gets its answer by TCP.
func (w *worker) slips(f *farmTable) bool {
	w.slipped++
	return w.slipped%f.slip == 0
}

// in copies a message into space, or returns nil if it does not fit.
func in(space, msg []byte) []byte {
	if len(msg) > cap(space) {
		return nil
	}
	return append(space[:0], msg...)
}

// room returns the maximum size of the answer.
func (w *worker) room(q *wire.Query, asked int) int {
	switch {
	case q.TCP:
		return wire.LargestTCP
	case q.Verified:
		return q.Room
	}
	return min(q.Room, max(amplified*asked, wire.HeaderSize))
}

// resolve computes the answer; signs is its TSIG state, or nil.
func (w *worker) resolve(f *farmTable, r *wire.Reply, signs *rdata.Exchange) {
	q := &w.query
	w.answered = false
	switch {
	case q.Version() != 0:
		r.Rcode = wire.BadVers
	case q.Class == wire.ClassCH:
		w.chaos(f, r)
	case q.Class != wire.ClassIN && q.Class != wire.ClassANY:
		r.Rcode = wire.Refused
	case q.Type == wire.TypeNXNAME: // RFC 9824 §3.5
		r.Rcode, r.More = wire.FormErr, wire.InvalidType
	case q.Type == wire.TypeIXFR && f.lets(q, signs) && w.answerer.Current(f.zones, q, r):
	case q.Type == wire.TypeAXFR || q.Type == wire.TypeIXFR:
		r.Rcode = wire.Refused // transfers allowed by TCP are handled elsewhere
	default:
		w.chooser.Services, w.chooser.Places = f.services, f.places
		if w.answered = w.answerer.Answer(f.zones, q, r); !w.answered {
			r.Rcode, r.More = wire.Refused, wire.NotAuthoritative
		}
	}
}

// chaos answers queries about the server itself (RFC 4892).
func (w *worker) chaos(f *farmTable, r *wire.Reply) {
	text := ""
	switch string(w.query.Name()) {
	case "\x07version\x04bind\x00", "\x07version\x06server\x00":
		text = f.version
	case "\x02id\x06server\x00", "\x08hostname\x04bind\x00":
		text = f.server.NSID
	}
	text = text[:min(len(text), 255)]
	if text == "" || w.query.Type != wire.TypeTXT && w.query.Type != wire.TypeANY || !r.Fits(wire.RecordSize+1+len(text)) {
		r.Rcode = wire.Refused
		return
	}
	at := len(r.Msg)
	r.Record(wire.HeaderSize, wire.TypeTXT, 0, 1+len(text))
	r.Msg[at+5] = byte(wire.ClassCH)
	r.Msg = append(append(r.Msg, byte(len(text))), text...)
	r.Added(wire.Answer, 1)
	r.AA = true
}

// countChoice counts a service's choice.
func (w *worker) countChoice(s *stats.Farm) {
	last := &w.chooser.Last
	if last.Service == 0 {
		return
	}
	s.ServiceChosen++
	for _, id := range last.Backends[:last.Count] {
		w.shard.Backend(id).Requests++
	}
}

// count counts an answer.
func count(s *stats.Farm, r *wire.Reply) {
	if r.TC {
		s.Truncated++
	}
	if r.NoName {
		s.NXDomains++
		return
	}
	switch r.Rcode {
	case wire.NoError:
		s.NoErrors++
	case wire.ServFail:
		s.ServFails++
	case wire.Refused, wire.NotAuth:
		s.RefusedNames++
	default:
		s.BadMessages++
	}
}
