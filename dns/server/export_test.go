package server

import (
	"net/netip"
	"time"
	"unsafe"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/dns/wire"
)

// Answerer returns a function that answers messages of the farm with that number like a loop
// whose time does not advance.
func (e *Engine) Answerer(id uint32) func(msg []byte, from netip.Addr) []byte {
	return e.RecordingAnswerer(id, nil, nil)
}

// RecordingAnswerer is an Answerer that writes records.
func (e *Engine) RecordingAnswerer(id uint32, to *accesslog.Writer, segment *accesslog.Segment) func(msg []byte, from netip.Addr) []byte {
	w := newWorker(e, new(loop.Loop), e.Segment.Shard(0), e.rejections.Recorder(0), 1)
	w.recorder = accesslog.NewRecorder(segment, to, 0)
	space := make([]byte, 0, wire.LargestUDP)
	f := e.table.Load().ByID[id]
	return func(msg []byte, from netip.Addr) []byte {
		w.query.Client, w.query.TCP = from, false
		return w.answer(f, msg, space)
	}
}

// AnswererOfASecond is an Answerer, for UDP and TCP, that stays in the same second.
func (e *Engine) AnswererOfASecond(id uint32) func(msg []byte, from netip.Addr, tcp bool) []byte {
	w, now := newWorker(e, new(loop.Loop), e.Segment.Shard(0), e.rejections.Recorder(0), 1), time.Now().Unix()
	w.answerer.Signer.Now = func() int64 { return now }
	space := make([]byte, 0, wire.LargestTCP)
	f := e.table.Load().ByID[id]
	return func(msg []byte, from netip.Addr, tcp bool) []byte {
		w.query.Client, w.query.TCP = from, tcp
		return w.answer(f, msg, space)
	}
}

// Compiled identifies the compiled farm with that number.
func (e *Engine) Compiled(id uint32) uintptr { return uintptr(unsafe.Pointer(e.table.Load().ByID[id])) }

// HasCertificates reports whether the store of TLS configurations has the certificates of cfg.
func (e *Engine) HasCertificates(cfg *farm.Config) bool { return e.tls.Begin(cfg).Adopts() }

// Space returns the size of the first loop's memory for the answers of a batch.
func (e *Engine) Space() (n int) {
	done := make(chan struct{})
	e.Workers[0].Post(func() { n = cap(e.Workers[0].space); close(done) })
	<-done
	return n
}

// FirstSpace is the initial size of that memory.
const FirstSpace = firstSpace

// MostPerTurn is the maximum a transfer sends in one turn of its loop.
const MostPerTurn = messagesPerTurn * (transferRoom + lengthSize)
