package server

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/names"
	"github.com/sluicelb/sluice/dns/wire"
)

// AnswerHTTPS implements names.Answerer: layer 7 took the question from a request.
func (e *Engine) AnswerHTTPS(loop int, farm string, msg []byte, from netip.AddrPort) (answer []byte, fresh uint32, what names.Outcome) {
	f := e.table.Load().byName[farm]
	if f == nil {
		return nil, 0, names.Absent
	}
	w := e.Workers[loop]
	q := &w.query
	q.Client, w.port, q.TCP, q.TLS, w.https = from.Addr(), from.Port(), true, true, true
	defer func() { w.https = false }() // also of what a panic ended
	if w.stream == nil {
		w.makeStream()
	}
	answer = w.answer(f, msg, w.stream[:0])
	switch {
	case w.limited:
		return nil, 0, names.Limited
	case len(answer) == 0:
		return nil, 0, names.Unreadable
	}
	w.shard.Farm(f.id).BytesOut += uint64(len(answer))
	return answer, wire.Fresh(q, answer), names.Answered
}
