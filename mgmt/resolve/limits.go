package resolve

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"time"
)

// Limits bounds how long an answer is valid, independently of its TTL.
type Limits struct {
	MinTTL, MaxTTL time.Duration
	// GoneTime is the time that a name must be without addresses until it is Withdrawn.
	GoneTime time.Duration
}

// DefaultLimits are the defaults. They bound the query rate of a name with a TTL of 0, and a
// change is found within an hour even if the TTL was not lowered before.
var DefaultLimits = Limits{5 * time.Second, time.Hour, time.Hour}

// Bounds of the limits.
const (
	LeastTTL = time.Second
	MostTTL  = 24 * time.Hour
	MostGone = 30 * 24 * time.Hour
)

// Check returns an error that names the invalid field of the limits.
func (l Limits) Check() error {
	for _, v := range []struct {
		name      string
		ttl, most time.Duration
	}{{"min_ttl", l.MinTTL, MostTTL}, {"max_ttl", l.MaxTTL, MostTTL}, {"gone_time", l.GoneTime, MostGone}} {
		if v.ttl < LeastTTL || v.ttl > v.most {
			return fmt.Errorf("%s: a number of seconds from %d to %d is allowed, got %d", v.name, int(LeastTTL.Seconds()), int(v.most.Seconds()), int(v.ttl.Seconds()))
		}
	}
	if l.MinTTL > l.MaxTTL {
		return fmt.Errorf("min_ttl: must not be above max_ttl, %d, got %d", int(l.MaxTTL.Seconds()), int(l.MinTTL.Seconds()))
	}
	return nil
}

// Store stores settings of this node; *store.Store implements it.
type Store interface {
	Setting(name string) (value string, ok bool)
	SetSetting(name, value string) error
}

const settingName = "names.settings"

// LoadLimits returns the stored limits, or the defaults if none are stored or the stored ones
// are unreadable.
func LoadLimits(s Store) Limits {
	l := DefaultLimits
	if text, ok := s.Setting(settingName); ok {
		kept := Limits{GoneTime: DefaultLimits.GoneTime} // missing in settings of an older version
		if json.Unmarshal([]byte(text), &kept) == nil && kept.Check() == nil {
			l = kept
		}
	}
	return l
}

// SaveLimits checks and stores limits.
func SaveLimits(s Store, l Limits) error {
	if err := l.Check(); err != nil {
		return err
	}
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return s.SetSetting(settingName, string(text))
}

// String returns the address, with the port from an SRV record.
func (t Target) String() string {
	if t.Port == 0 {
		return t.Addr.String()
	}
	return net.JoinHostPort(t.Addr.String(), strconv.Itoa(int(t.Port)))
}
