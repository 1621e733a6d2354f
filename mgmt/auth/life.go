package auth

import (
	"fmt"
	"strconv"
	"time"
)

// MostSessionTime is the greatest allowed lifetime of sessions without a request.
const MostSessionTime = 24 * time.Hour

// Settings stores settings of this node; *store.Store implements it.
type Settings interface {
	Setting(name string) (value string, ok bool)
	SetSetting(name, value string) error
}

const lifeSetting = "session_timeout"

// LoadSessionTime returns the lifetime of sessions without a request: the setting, or
// SessionTime.
func LoadSessionTime(s Settings) time.Duration {
	text, _ := s.Setting(lifeSetting)
	minutes, err := strconv.Atoi(text)
	if life := time.Duration(minutes) * time.Minute; err == nil && checkLife(life) == nil {
		return life
	}
	return SessionTime
}

// SaveSessionTime checks and stores the lifetime. It also applies to open sessions.
func SaveSessionTime(s Settings, life time.Duration) error {
	if err := checkLife(life); err != nil {
		return err
	}
	return s.SetSetting(lifeSetting, strconv.Itoa(int(life/time.Minute)))
}

func checkLife(life time.Duration) error {
	if life < time.Minute || life > MostSessionTime || life%time.Minute != 0 {
		return fmt.Errorf("a number of minutes from 1 to %d is allowed", int(MostSessionTime/time.Minute))
	}
	return nil
}
