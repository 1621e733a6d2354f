package auth

import (
	"fmt"
	"strconv"
	"time"
)

// MostSessionTime bounds how long sessions may be set to live without a request.
const MostSessionTime = 24 * time.Hour

// Settings keeps settings of this node; *store.Store implements it.
type Settings interface {
	Setting(name string) (value string, ok bool)
	SetSetting(name, value string) error
}

const lifeSetting = "session_timeout"

// LoadSessionTime returns how long sessions live without a request: what was set, or
// SessionTime.
func LoadSessionTime(s Settings) time.Duration {
	text, _ := s.Setting(lifeSetting)
	minutes, err := strconv.Atoi(text)
	if life := time.Duration(minutes) * time.Minute; err == nil && checkLife(life) == nil {
		return life
	}
	return SessionTime
}

// SaveSessionTime checks and keeps it. It holds for sessions that are open, too.
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
