package server

import (
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/dns/wire"
)

// amplified is how many times as long as the question an answer may be whose client's
// address may be borrowed: one that has no cookie of ours asks again by TCP. A signed denial
// needs up to nine times its question (see ARCHITECTURE.md, "The path of a query").
const amplified = 10

// answer answers one message whose sender is in w.query. The answer lies in space, and is
// empty where there is none.
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
	var signs *rdata.Exchange
	if q.TSIGAt != 0 {
		var refusal []byte
		var err error
		if signs, refusal, err = rdata.Verified(msg, f.keys); err != nil {
			s.RefusedNames++
			return in(space, refusal)
		}
		room -= signs.Size()
	}
	r := &w.reply
	r.Begin(q, msg, space, room)
	w.chooser.Last.Service, w.chooser.Last.Count = 0, 0
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
	w.record(f, len(msg), len(answer))
	return answer
}

// slips reports whether a message beyond a limit is answered truncated: a client of the same
// net whose address somebody borrows gets its answer by TCP.
func (w *worker) slips(f *farmTable) bool {
	w.slipped++
	return w.slipped%f.slip == 0
}

// in puts a message into memory that has room for it; without room there is none.
func in(space, msg []byte) []byte {
	if len(msg) > cap(space) {
		return nil
	}
	return append(space[:0], msg...)
}

// room is how long the answer may be.
func (w *worker) room(q *wire.Query, asked int) int {
	switch {
	case q.TCP:
		return wire.LargestTCP
	case q.Verified:
		return q.Room
	}
	return min(q.Room, max(amplified*asked, wire.HeaderSize))
}

// resolve finds the answer; signs is what will sign it, nil where nothing does.
func (w *worker) resolve(f *farmTable, r *wire.Reply, signs *rdata.Exchange) {
	q := &w.query
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
		r.Rcode = wire.Refused // what is allowed by TCP never comes here
	default:
		w.chooser.Services, w.chooser.Places = f.services, f.places
		if !w.answerer.Answer(f.zones, q, r) {
			r.Rcode, r.More = wire.Refused, wire.NotAuthoritative
		}
	}
}

// chaos answers what is asked about the server itself (RFC 4892).
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

// countChoice counts what a service chose.
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
