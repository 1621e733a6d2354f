package accesslog

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	// chunkSize is the size in bytes of the lines that are passed on at once.
	chunkSize = 64 << 10
	// QueueChunks is the maximum number of chunks that wait for an output: 4 MiB per sink.
	QueueChunks = 64
	// closeTime bounds the wait of close for queued lines.
	closeTime = time.Second
)

// output writes the lines. It belongs to the goroutine of its sink.
type output interface {
	// write writes whole lines: all of them, or it returns an error. With the error
	// notRotated the lines were written.
	write(c *chunk) error
	// reopen opens the file or connection again.
	reopen()
	close()
}

// chunk holds lines for a queue.
type chunk struct {
	bytes []byte
	ends  []int // of the lines in bytes
}

// sink queues lines for an output. Its methods belong to one goroutine, except those that
// run calls.
type sink struct {
	key         target // target of the lines, for messages of run
	queue       chan *chunk
	free        chan *chunk
	filling     *chunk
	output      output
	counts      *counts
	acknowledge func(n uint64)
	log         *slog.Logger
	reopened    atomic.Bool
	renamed     atomic.Pointer[target]
	broken      bool // the last write failed; of run
	trouble     trouble
	grows       bool // its file could not be rotated; of run
	done        chan struct{}
}

func newSink(key target, out output, counts *counts, acknowledge func(uint64), log *slog.Logger) *sink {
	s := &sink{
		key: key, queue: make(chan *chunk, QueueChunks), free: make(chan *chunk, QueueChunks+2),
		output: out, counts: counts, acknowledge: acknowledge, log: log, done: make(chan struct{}),
	}
	s.trouble.to = key.String()
	go s.run()
	return s
}

// line returns the chunk to append a line to. The caller calls added when the line is
// complete.
func (s *sink) line() *chunk {
	if s.filling != nil {
		return s.filling
	}
	select {
	case s.filling = <-s.free:
	default:
		s.filling = &chunk{bytes: make([]byte, 0, chunkSize+chunkSize/4)}
	}
	return s.filling
}

func (s *sink) added() {
	c := s.filling
	if c.ends = append(c.ends, len(c.bytes)); len(c.bytes) >= chunkSize {
		s.flush()
	}
}

// flush passes on the lines collected so far. It never waits: lines beyond the capacity of
// the queue are dropped.
func (s *sink) flush() {
	c := s.filling
	if c == nil || len(c.ends) == 0 {
		return
	}
	select {
	case s.queue <- c:
		s.filling = nil
	default:
		s.counts.dropped.Add(uint64(len(c.ends)))
		s.acknowledge(uint64(len(c.ends)))
		c.empty()
	}
}

func (c *chunk) empty() {
	c.bytes, c.ends = c.bytes[:0], c.ends[:0]
	if cap(c.bytes) > 4*chunkSize {
		c.bytes = make([]byte, 0, chunkSize)
	}
}

// reopen makes the output open its file again before the next line.
func (s *sink) reopen() {
	s.reopened.Store(true)
	s.nudge()
}

// nudge wakes run, which may have other work than writing.
func (s *sink) nudge() {
	select {
	case s.queue <- &chunk{}: // now, if nothing is in progress
	default:
	}
}

// close ends the sink after the queued lines were written, or the time has passed.
func (s *sink) close() {
	s.flush()
	close(s.queue)
}

// ended reports whether run has ended.
func (s *sink) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

func (s *sink) run() {
	defer close(s.done)
	defer s.output.close()
	for c := range s.queue {
		if to := s.renamed.Swap(nil); to != nil {
			s.moveFile(*to)
		}
		if s.reopened.Swap(false) {
			s.output.reopen()
		}
		if len(c.ends) == 0 {
			continue
		}
		s.write(c)
		c.empty()
		select {
		case s.free <- c:
		default:
		}
	}
}

func (s *sink) write(c *chunk) {
	n := uint64(len(c.ends))
	defer s.acknowledge(n)
	s.trouble.begin(time.Now())
	err := s.output.write(c)
	stays, grows := errors.AsType[notRotated](err)
	if grows {
		err = nil
		if !s.grows {
			s.log.Warn("access log cannot be rotated, its file goes on growing", "to", s.key.String(), "cause", stays.error)
		}
	}
	s.grows = grows
	s.trouble.end(time.Now(), err, s.key.String())
	switch {
	case err == nil:
		s.counts.written.Add(n)
		if s.broken {
			s.log.Info("access log is written again", "to", s.key.String())
		}
	default:
		s.counts.failed.Add(n)
		if !s.broken {
			s.log.Error("access log cannot be written, lines are lost", "to", s.key.String(), "cause", err)
		}
	}
	s.broken = err != nil
}
