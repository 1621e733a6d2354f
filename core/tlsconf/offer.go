package tlsconf

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// offer holds the TLS parameters that a farm offers, derived from its settings.
type offer struct {
	lowest, highest uint16
	suites          []uint16
	curves          []tls.CurveID
	http2           bool
	others          []string // ALPN protocols instead of those of HTTP
}

// CheckListener validates the versions, ciphers and groups of a farm, each and in
// combination.
func CheckListener(t *farm.TLS) error {
	_, err := offerOf(t)
	return err
}

func offerOf(t *farm.TLS) (offer, error) {
	if err := CheckVersions(t); err != nil {
		return offer{}, err
	}
	suites, err := ciphersOf(t)
	if err != nil {
		return offer{}, err
	}
	curves, err := parseCurves(t.Curves)
	if err != nil {
		return offer{}, fmt.Errorf("ecdhcurve: %w", err)
	}
	o := offer{suites: suites, curves: curves, http2: !t.DisableHTTP2}
	o.lowest, o.highest = versionRange(t)
	return o, o.raise()
}

// raise increases the lowest version past those without a usable suite or group. A
// client then gets the accurate error, that its version is not supported.
func (o *offer) raise() error {
	usable := slices.DeleteFunc(slices.Clone(o.suites), func(id uint16) bool {
		return suiteByID(id).forwardSecret() && !classic(o.curves)
	})
	old := slices.ContainsFunc(usable, func(id uint16) bool { return suiteByID(id).lowest < tls.VersionTLS12 })
	switch {
	case len(usable) == 0:
		o.lowest = tls.VersionTLS13
	case !old:
		o.lowest = max(o.lowest, tls.VersionTLS12)
	}
	if o.lowest > o.highest {
		return errors.New("ecdhcurve leaves groups for TLS 1.3 only, which disable_tlsv1_3 takes away: add X25519 or P-256")
	}
	return nil
}
