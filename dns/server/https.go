package server

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/doh"
	"github.com/sluicelb/sluice/dns/wire"
)

// AnswerHTTPS implements doh.Answerer, for a query layer 7 took from a request.
func (e *Engine) AnswerHTTPS(loop int, farm string, msg []byte, from netip.AddrPort) (doh.Answer, doh.Outcome) {
	f := e.table.Load().byName[farm]
	if f == nil {
		return doh.Answer{}, doh.Absent
	}
	w := e.Workers[loop]
	q := &w.query
	q.Client, w.port, q.TCP, q.TLS, w.https = from.Addr().Unmap().WithZone(""), from.Port(), true, true, true // limits and choices use nets
	defer func() { w.https = false }()                                                                        // also after a panic
	if w.stream == nil {
		w.makeStream()
	}
	msg = w.answer(f, msg, w.stream[:0])
	switch {
	case w.limited:
		return doh.Answer{}, doh.Limited
	case len(msg) == 0:
		return doh.Answer{}, doh.Unreadable
	}
	w.shard.Farm(f.id).BytesOut += uint64(len(msg))
	return doh.Answer{Message: msg, Fresh: wire.Fresh(q, msg), Private: w.reply.Scope > 0}, doh.Answered
}
