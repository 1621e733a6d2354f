package acme

import (
	"fmt"
	"strconv"
	"time"
)

// How long an order may take: by default as in the family, and what may be set.
const (
	OrderTime      = 120 * time.Second
	LeastOrderTime = 30 * time.Second
	MostOrderTime  = time.Hour
)

const orderTimeSetting = "le_renewal_timeout"

// LoadOrderTime returns how long orders may take besides the wait for DNS records: what
// was set, or OrderTime.
func LoadOrderTime(s Store) time.Duration {
	text, _ := s.Setting(orderTimeSetting)
	seconds, err := strconv.Atoi(text)
	if limit := time.Duration(seconds) * time.Second; err == nil && checkOrderTime(limit) == nil {
		return limit
	}
	return OrderTime
}

// SaveOrderTime checks and keeps it, for orders to come.
func SaveOrderTime(s Store, limit time.Duration) error {
	if err := checkOrderTime(limit); err != nil {
		return err
	}
	return s.SetSetting(orderTimeSetting, strconv.Itoa(int(limit/time.Second)))
}

func checkOrderTime(limit time.Duration) error {
	if limit < LeastOrderTime || limit > MostOrderTime || limit%time.Second != 0 {
		return fmt.Errorf("a number of seconds from %d to %d is allowed", int(LeastOrderTime/time.Second), int(MostOrderTime/time.Second))
	}
	return nil
}
