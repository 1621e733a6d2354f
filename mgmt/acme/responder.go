package acme

import (
	"net/netip"
	"slices"
	"sync"

	"github.com/sluicelb/sluice/core/farm"
)

// challengePort is where authorities ask (RFC 8555 section 8.3).
const challengePort = 80

// TemporaryFarm is the name of the farm that listens where no other does while
// an order is under way.
const TemporaryFarm = "acme-challenge"

// A Responder holds the answers to the questions of an authority while an order is
// under way. The zero value is empty.
type Responder struct {
	mu         sync.Mutex
	challenges []farm.Challenge
	at         netip.AddrPort // where a farm must listen; zero: there is one
}

// Complete adds the answers to what is about to be published, in a copy, and a
// farm when none listens where the authority will ask. Without challenges it returns
// cfg itself.
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

// listening is the running farm that takes connections to an address.
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

// temporary is a farm without services: it answers challenges, and everything
// else with 503. Its number is the highest that is free, because new farms get
// low ones.
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
