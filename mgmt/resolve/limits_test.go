package resolve_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/resolve"
)

func TestLimitsAreChecked(t *testing.T) {
	for text, l := range map[string]resolve.Limits{
		"min_ttl: a number of seconds from 1": {MinTTL: 0, MaxTTL: time.Hour}, "max_ttl: a number of seconds from 1": {MinTTL: time.Second, MaxTTL: 48 * time.Hour},
		"min_ttl: a number of seconds from 1 to 86400 is allowed, got 86401":       {MinTTL: 86401 * time.Second, MaxTTL: time.Hour},
		"min_ttl: must not be above max_ttl, 60, got 3600":                         {MinTTL: time.Hour, MaxTTL: time.Minute},
		"gone_time: a number of seconds from 1 to 2592000 is allowed, got 0":       {MinTTL: time.Second, MaxTTL: time.Minute},
		"gone_time: a number of seconds from 1 to 2592000 is allowed, got 2592001": {MinTTL: time.Second, MaxTTL: time.Minute, GoneTime: 2592001 * time.Second},
	} {
		if l.MinTTL > l.MaxTTL {
			l.GoneTime = time.Hour
		}
		if err := l.Check(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v", l, err)
		}
		if kept := (settings{}); resolve.SaveLimits(kept, l) == nil || len(kept) != 0 {
			t.Errorf("%+v: kept is %v", l, kept)
		}
	}
	for _, l := range []resolve.Limits{{MinTTL: time.Second, MaxTTL: time.Second, GoneTime: time.Second}, {MinTTL: 24 * time.Hour, MaxTTL: 24 * time.Hour, GoneTime: 720 * time.Hour}} {
		if err := l.Check(); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

// settings is a store in memory.
type settings map[string]string

var errFull = errors.New("the disk is full")

func (s settings) Setting(name string) (string, bool) { v, ok := s[name]; return v, ok }

func (s settings) SetSetting(name, value string) error {
	if s == nil {
		return errFull
	}
	s[name] = value
	return nil
}

func TestLimitsAreKept(t *testing.T) {
	set := resolve.Limits{MinTTL: 2 * time.Second, MaxTTL: time.Minute, GoneTime: 3 * time.Hour}
	kept := settings{}
	if got := resolve.LoadLimits(kept); got != (resolve.Limits{MinTTL: 5 * time.Second, MaxTTL: time.Hour, GoneTime: time.Hour}) {
		t.Errorf("before they were set: %+v", got)
	}
	if err := resolve.SaveLimits(kept, set); err != nil {
		t.Fatal(err)
	}
	if got := resolve.LoadLimits(kept); got != set {
		t.Errorf("they are %+v, want %+v", got, set)
	}
	for name := range kept {
		kept[name] = `{"MinTTL":2000000000,"MaxTTL":60000000000}`
	}
	if got := resolve.LoadLimits(kept); got != (resolve.Limits{MinTTL: 2 * time.Second, MaxTTL: time.Minute, GoneTime: time.Hour}) {
		t.Errorf("of an older version: %+v", got)
	}
	for _, damaged := range []string{"{", `{"MinTTL":0,"MaxTTL":1000000000}`} {
		for name := range kept {
			kept[name] = damaged
		}
		if got := resolve.LoadLimits(kept); got != resolve.DefaultLimits {
			t.Errorf("%s: they are %+v, want %+v", damaged, got, resolve.DefaultLimits)
		}
	}
	if err := resolve.SaveLimits(settings(nil), set); !errors.Is(err, errFull) {
		t.Errorf("no room: %v", err)
	}
}
