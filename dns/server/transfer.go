package server

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/dns/wire"
	"github.com/sluicelb/sluice/dns/zone"
)

// transfer is a zone transfer in progress (RFC 5936).
type transfer struct {
	farm    *farmTable
	query   wire.Query
	head    []byte // header and question
	cursor  zone.Cursor
	signs   *rdata.Exchange // TSIG state, or nil
	port    uint16          // source port of the query
	asked   int             // size of the query
	sent    int             // bytes of all messages
	aborted bool
	// failure is why the transfer is aborted here, or "".
	failure string
}

// asksTransfer starts the transfer a message requests. It reports whether the message is an
// allowed request; others get REFUSED like any query.
func (s *connection) asksTransfer(f *farmTable, msg []byte) bool {
	q := &s.w.query
	if verdict, _ := q.Parse(msg); verdict != wire.Serve || q.Class != wire.ClassIN || q.Type != wire.TypeAXFR && q.Type != wire.TypeIXFR {
		return false
	}
	cursor, is := f.zones.Transfer(q.Name())
	if !is {
		return false
	}
	signs, may := mayCopy(f, q, msg)
	if !may {
		return false
	}
	stats := s.w.shard.Farm(f.id)
	stats.Queries++
	stats.QueriesTCP++
	stats.Transfers++
	if serial, ok := q.Serial(msg); ok && q.Type == wire.TypeIXFR && int32(cursor.Serial()-serial) <= 0 {
		cursor = cursor.SerialAlone() // the client is up to date
	}
	s.transfer = &transfer{
		farm: f, query: *q, head: append([]byte(nil), msg[:q.Question]...), cursor: cursor, signs: signs,
		port: s.w.port, asked: len(msg),
	}
	s.w.busy++
	s.goOn()
	return true
}

// mayCopy reports whether the client may copy a zone: by its address, by a key, which then
// signs the answers, or by both.
func mayCopy(f *farmTable, q *wire.Query, msg []byte) (signs *rdata.Exchange, may bool) {
	if q.TSIGAt == 0 || len(f.keys) == 0 {
		return nil, q.TSIGAt == 0 && f.lets(q, nil)
	}
	signs, _, err := rdata.Verified(msg, f.keys)
	return signs, err == nil && f.lets(q, signs)
}

// lets reports whether the client may copy zones; signs is its TSIG state, or nil.
func (f *farmTable) lets(q *wire.Query, signs *rdata.Exchange) bool {
	if len(f.keys) == 0 {
		return allowed(f.transfers, q.Client)
	}
	return signs != nil && (len(f.transfers) == 0 || allowed(f.transfers, q.Client))
}

func allowed(nets []netip.Prefix, a netip.Addr) bool {
	for _, n := range nets {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

// transferRoom is the size of each message of a transfer: names can be compressed in the
// first 16 KiB.
const transferRoom = 16 << 10

// messagesPerTurn limits what one transfer sends per turn: 128 KiB.
const messagesPerTurn = 8

// goOn sends messages until the send buffer is full. It reports whether the transfer is
// complete. The caller ends the connection if the transfer is aborted.
func (s *connection) goOn() bool {
	w, t := s.w, s.transfer
	for n := 0; s.conn.Pending() == 0; n++ {
		if n == messagesPerTurn {
			w.loop.Again(s.conn) // others get their turn first
			break
		}
		r := &w.reply
		r.Begin(&t.query, t.head, w.stream[lengthSize:lengthSize], transferRoom)
		r.AA = true
		w.chooser.Services = t.farm.services
		more := w.answerer.Transfer(&t.cursor, &t.query, r)
		msg := r.End(&t.query, &t.farm.server)
		if t.signs != nil {
			msg = in(w.stream[lengthSize:lengthSize], t.signs.Sign(msg))
		}
		if len(msg) == 0 {
			t.aborted, t.failure = true, "a message of the transfer cannot be signed"
			return false
		}
		if t.aborted = !s.send(t.farm, msg); t.aborted {
			return false
		}
		t.sent += len(msg)
		if !more {
			s.endTransfer(true)
			return true
		}
	}
	s.conn.SetDeadline(w.loop.Now() + t.farm.idle)
	return false
}

// endTransfer counts and records a transfer that is complete or aborted. Secondaries retry
// aborted ones.
func (s *connection) endTransfer(complete bool) {
	w, t := s.w, s.transfer
	s.transfer = nil
	w.busy--
	stats := w.shard.Farm(t.farm.id)
	flags := accesslog.Flags(0)
	switch {
	case complete:
		stats.NoErrors++
	case t.failure != "":
		stats.ServFails++
		flags = accesslog.AbortedHere
		client := netip.AddrPortFrom(t.query.Client, t.port)
		w.rejections.Add(w.loop.Now(), rejection.Event{
			Class: transferAborted, Farm: t.farm.name, Reason: t.failure, Client: client,
		})
	default:
		flags = accesslog.AbortedByClient
	}
	w.query, w.port, w.note = t.query, t.port, t.failure
	w.reply.Rcode, w.reply.TC, w.reply.NoName = wire.NoError, false, false
	w.chooser.Last.Service, w.chooser.Last.Count = 0, 0
	w.record(t.farm, t.asked, t.sent, flags)
	w.note = ""
}

// transferAborted is the class of aborted transfers in the log.
const transferAborted rejection.Class = 0
