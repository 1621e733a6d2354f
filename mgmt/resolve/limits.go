package resolve

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"time"
)

// Limits bound for how long an answer is believed, whatever its time to live.
type Limits struct {
	MinTTL, MaxTTL time.Duration
	// GoneTime is how long a name may be without addresses until it is Withdrawn.
	GoneTime time.Duration
}

// DefaultLimits: a name with a time to live of 0 is not asked for all the time,
// and one that was moved by somebody who forgot to lower it is found in an hour.
var DefaultLimits = Limits{5 * time.Second, time.Hour, time.Hour}

// The bounds of the bounds.
const (
	LeastTTL = time.Second
	MostTTL  = 24 * time.Hour
	MostGone = 30 * 24 * time.Hour
)

// Check says what is wrong with limits, naming the field.
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

// Store keeps settings of this node; *store.Store implements it.
type Store interface {
	Setting(name string) (value string, ok bool)
	SetSetting(name, value string) error
}

const settingName = "names.settings"

// LoadLimits returns those that were set, the defaults when none were or they
// cannot be read.
func LoadLimits(s Store) Limits {
	l := DefaultLimits
	if text, ok := s.Setting(settingName); ok {
		kept := Limits{GoneTime: DefaultLimits.GoneTime} // which settings of an older version lack
		if json.Unmarshal([]byte(text), &kept) == nil && kept.Check() == nil {
			l = kept
		}
	}
	return l
}

// SaveLimits checks and keeps limits.
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

// String is the address, with the port an SRV record gives it.
func (t Target) String() string {
	if t.Port == 0 {
		return t.Addr.String()
	}
	return net.JoinHostPort(t.Addr.String(), strconv.Itoa(int(t.Port)))
}
