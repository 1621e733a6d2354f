package tlsconf

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// offer is what a farm has for clients, worked out of its settings.
type offer struct {
	lowest, highest uint16
	suites          []uint16
	curves          []tls.CurveID
	http2           bool
	others          []string // protocols, instead of those of HTTP
}

// CheckListener tells whether the versions, ciphers and groups of a farm can
// be offered, each and together.
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

// raise lifts the lowest version over those that no handshake could end with:
// no suite is left for them, or no group. A client then hears that the version
// is not offered, which is the reason.
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
