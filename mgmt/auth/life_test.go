package auth_test

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/auth"
)

type settings map[string]string

func (s settings) Setting(name string) (string, bool)  { v, ok := s[name]; return v, ok }
func (s settings) SetSetting(name, value string) error { s[name] = value; return nil }

func TestSessionTimeIsStored(t *testing.T) {
	s := settings{}
	if life := auth.LoadSessionTime(s); life != 30*time.Minute {
		t.Errorf("it begins with %v", life)
	}
	for _, life := range []time.Duration{time.Minute, 24 * time.Hour, 45 * time.Minute} {
		if err := auth.SaveSessionTime(s, life); err != nil || auth.LoadSessionTime(s) != life {
			t.Errorf("%v became %v, %v", life, auth.LoadSessionTime(s), err)
		}
	}
	for _, life := range []time.Duration{0, -time.Minute, time.Second, 90 * time.Second, 24*time.Hour + time.Minute} {
		if err := auth.SaveSessionTime(s, life); err == nil || auth.LoadSessionTime(s) != 45*time.Minute {
			t.Errorf("%v is kept: %v, %v", life, auth.LoadSessionTime(s), err)
		}
	}
	for _, damaged := range []string{"x", "", "0", "99999"} {
		s["session_timeout"] = damaged
		if life := auth.LoadSessionTime(s); life != auth.SessionTime {
			t.Errorf("%q is %v, want %v", damaged, life, auth.SessionTime)
		}
	}
}
