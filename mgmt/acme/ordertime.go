package acme

import (
	"fmt"
	"strconv"
	"time"
)

// Time limits of an order: the default, as in the family, and the range.
const (
	OrderTime      = 120 * time.Second
	LeastOrderTime = 30 * time.Second
	MostOrderTime  = time.Hour
)

const orderTimeSetting = "le_renewal_timeout"

// LoadOrderTime returns the time limit of orders without the wait for DNS records: the
// setting, or OrderTime.
func LoadOrderTime(s Store) time.Duration {
	text, _ := s.Setting(orderTimeSetting)
	seconds, err := strconv.Atoi(text)
	if limit := time.Duration(seconds) * time.Second; err == nil && checkOrderTime(limit) == nil {
		return limit
	}
	return OrderTime
}

// SaveOrderTime validates and stores it for future orders.
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
