package acme

import (
	"net/netip"
	"slices"
	"sync"

	"github.com/sluicelb/sluice/core/farm"
)

// challengePort is the port that authorities contact (RFC 8555 §8.3).
const challengePort = 80

// TemporaryFarm is the name of the farm that listens during an order if no other does.
const TemporaryFarm = "acme-challenge"

// Responder holds the challenge responses during an order. The zero value is empty.
type Responder struct {
	mu         sync.Mutex
	challenges []farm.Challenge
	at         netip.AddrPort // where a farm must listen; zero: one exists
}

// Complete adds the challenge responses to a copy of cfg before its publication, and a
// temporary farm if none listens where the authority connects. Without challenges it
// returns cfg itself.
func (r *Responder) Complete(cfg *farm.Config) *farm.Config {
	r.mu.Lock()
	challenges, at := r.challenges, r.at
	r.mu.Unlock()
	if len(challenges) == 0 {
		return cfg
	}
	out := cfg.Clone()
	out.Challenges = slices.Clone(challenges)
	if at.IsValid() && listening(cfg, at) == nil {
		out.Farms = append(out.Farms, temporary(cfg, at))
	}
	return out
}

func (r *Responder) put(challenges []farm.Challenge, at netip.AddrPort) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.challenges, r.at = challenges, at
}

// listening returns the running farm that accepts connections to an address.
func listening(cfg *farm.Config, at netip.AddrPort) *farm.Farm {
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped || !f.Takes(farm.L4TCP, at.Port()) {
			continue
		}
		if f.VIP == at.Addr() || f.VIP.IsUnspecified() && (f.VIP.Is6() || at.Addr().Is4()) {
			return f
		}
	}
	return nil
}

// temporary returns a farm without services, which responds to challenges and with 503 to
// everything else. It uses the highest free ID, because new farms get low ones.
func temporary(cfg *farm.Config, at netip.AddrPort) farm.Farm {
	taken := map[uint32]bool{}
	for i := range cfg.Farms {
		taken[cfg.Farms[i].ID] = true
	}
	id := uint32(farm.MaxFarmID)
	for taken[id] && id > 1 {
		id--
	}
	return farm.Farm{ID: id, Name: TemporaryFarm, Profile: farm.ProfileHTTP, VIP: at.Addr(), VPort: at.Port(), HTTP: farm.DefaultHTTP()}
}
