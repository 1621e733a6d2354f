package certs

import (
	"crypto/x509"
	"math"
	"time"
)

// Status is the state of a certificate in the terms of the product family.
type Status string

// States of a certificate.
const (
	StatusValid   Status = "valid"
	StatusSoon    Status = "about to expire" // in 15 days or less
	StatusExpired Status = "expired"
	// StatusInvalid means that it cannot be used; the problem explains why.
	StatusInvalid Status = "invalid"
	// StatusUnknown is the state of a CSR, which is not signed yet.
	StatusUnknown Status = "unknown"
)

// soon is the number of days before expiry from which a certificate counts as about to
// expire.
const soon = 15

// daysLeft counts whole days, below 0 after the end.
func daysLeft(c *x509.Certificate, now time.Time) int {
	return int(math.Floor(c.NotAfter.Sub(now).Hours() / 24))
}

func statusAt(c *x509.Certificate, now time.Time) Status {
	switch {
	case !now.Before(c.NotAfter):
		return StatusExpired
	case now.Before(c.NotBefore):
		return StatusInvalid
	case daysLeft(c, now) <= soon:
		return StatusSoon
	}
	return StatusValid
}
