package health

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Cause is a failure an engine counts for a backend that accepts connections.
type Cause uint32

// The causes.
const (
	CauseStatus  Cause = iota // a 5xx response, except 501 and 505
	CauseReset                // the connection ended before the response
	CauseTimeout              // no response in time
	CauseRate                 // too many requests failed
	CauseSlow                 // responses took far longer than those of others
)

// String describes the cause.
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

// Ejection describes why a backend that accepts connections gets no traffic.
type Ejection struct {
	Since, Until time.Time
	Cause        Cause // of the last failure
	Times        int   // 1 for the first one in a while
}

// Why describes the reason.
func (e Ejection) Why() string {
	if e.Cause == CauseRate || e.Cause == CauseSlow {
		return e.Cause.String()
	}
	return "failures in a row, the last one: " + e.Cause.String()
}

// Failed counts another consecutive failure and returns their number. All loops of the
// engine count together.
func (s *Slot) Failed() int { return int(s.failures.Add(1)) }

// Worked resets the count. It writes only if it is not zero.
func (s *Slot) Worked() {
	if s.failures.Load() != 0 {
		s.failures.Store(0)
	}
}

// Ejected reports whether the backend is ejected.
func (s *Slot) Ejected() bool { return s.ejected.Load() != 0 }

// Ejection returns the current ejection of the backend, if any.
func (s *Slot) Ejection() (Ejection, bool) {
	last := s.last.Load()
	e := Ejection{
		Since: time.Unix(0, s.ejectedAt.Load()), Until: time.Unix(0, s.ejectedUntil.Load()),
		Cause: Cause(last & 0xff), Times: int(last >> 8),
	}
	return e, s.Ejected()
}

// MayEject reports whether another backend of a service may be ejected. Of total, ejected
// are ejected already and others are usable; at most percent may be ejected.
func MayEject(total, ejected, others, percent int) bool {
	return others > 0 && (ejected+1)*100 <= total*percent
}

// Eject ejects a backend until Readmit, independently of its findings. Only the engine calls
// it, one call at a time. The ejection lasts for base, or twice as long as the last one if
// that ended less than ten times base ago, up to ten times base.
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

// Readmit ends an ejection and reports whether there was one.
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
