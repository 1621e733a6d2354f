package health

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Cause is what an engine counts against a backend that can be connected to.
type Cause uint32

// The causes.
const (
	CauseStatus  Cause = iota // an answer of 5xx, but not of 501 or 505
	CauseReset                // a connection that ended before the answer
	CauseTimeout              // no answer in time
	CauseRate                 // too many of its requests failed
	CauseSlow                 // its answers took far longer than those of others
)

// String says in words what happened.
func (c Cause) String() string {
	switch c {
	case CauseReset:
		return "its connection ended before the answer"
	case CauseTimeout:
		return "no answer in time"
	case CauseRate:
		return "too many of its requests failed"
	case CauseSlow:
		return "its answers took far longer than those of others"
	}
	return "an answer of 5xx"
}

// Ejection says why a backend that can be connected to gets no traffic.
type Ejection struct {
	Since, Until time.Time
	Cause        Cause // of the last failure
	Times        int   // 1 for the first one in a while
}

// Why says in words what it is for.
func (e Ejection) Why() string {
	if e.Cause == CauseRate || e.Cause == CauseSlow {
		return e.Cause.String()
	}
	return "failures in a row, the last one: " + e.Cause.String()
}

// Failed counts one more failure in a row and gives their number. All loops of
// the engine count together.
func (s *Slot) Failed() int { return int(s.failures.Add(1)) }

// Worked ends the row. It writes only if there is one.
func (s *Slot) Worked() {
	if s.failures.Load() != 0 {
		s.failures.Store(0)
	}
}

// Ejected tells whether the backend is ejected.
func (s *Slot) Ejected() bool { return s.ejected.Load() != 0 }

// Ejection returns the ejection the backend is in, and whether there is one.
func (s *Slot) Ejection() (Ejection, bool) {
	last := s.last.Load()
	e := Ejection{
		Since: time.Unix(0, s.ejectedAt.Load()), Until: time.Unix(0, s.ejectedUntil.Load()),
		Cause: Cause(last & 0xff), Times: int(last >> 8),
	}
	return e, s.Ejected()
}

// MayEject reports whether one more backend of a service may be ejected: of
// total, ejected are already, others can be used, and no more than
// percent of a hundred may be out.
func MayEject(total, ejected, others, percent int) bool {
	return others > 0 && (ejected+1)*100 <= total*percent
}

// Eject takes a backend out, whatever is found of its health, until Readmit. The
// engine calls it, one call at a time. It lasts for base, twice that if the one
// before was over less than ten times base ago, and so on up to ten times base.
func (t *Table) Eject(id uint32, cause Cause, at time.Time, base time.Duration) Ejection {
	s := t.Slot(id)
	times := uint32(1)
	if before := s.ejectedUntil.Load(); before != 0 && at.UnixNano()-before < int64(farm.OutlierTimes*base) {
		times = min(s.last.Load()>>8, 30) + 1
	}
	until := at.Add(base * time.Duration(min(1<<(times-1), farm.OutlierTimes)))
	s.last.Store(times<<8 | uint32(cause)&0xff)
	s.ejectedAt.Store(at.UnixNano())
	s.ejectedUntil.Store(until.UnixNano())
	s.failures.Store(0)
	if s.ejected.Swap(1) == 0 {
		t.passive.Add(1)
	}
	e, _ := s.Ejection()
	return e
}

// Readmit ends an ejection. It reports whether there was one.
func (t *Table) Readmit(id uint32, at time.Time) bool {
	s := t.Slot(id)
	if !s.Ejected() {
		return false
	}
	s.failures.Store(0)
	s.ejectedUntil.Store(min(s.ejectedUntil.Load(), at.UnixNano()))
	if s.ejected.Swap(0) == 1 {
		t.passive.Add(1)
	}
	return true
}
