package farms

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
)

// Rules of a list as the API shows them. ID is the position from 0.
type (
	// AddedHeader is a header to add.
	AddedHeader struct {
		ID     int    `json:"id"`
		Header string `json:"header"`
	}
	// RemovedHeader is a pattern of headers to remove.
	RemovedHeader struct {
		ID      int    `json:"id"`
		Pattern string `json:"pattern"`
	}
	// ReplacedHeader is a rule that replaces header values.
	ReplacedHeader struct {
		ID      int    `json:"id"`
		Header  string `json:"header"`
		Match   string `json:"match"`
		Replace string `json:"replace"`
	}
	// RewrittenURL is a rule that rewrites path and query.
	RewrittenURL struct {
		ID      int    `json:"id"`
		Pattern string `json:"pattern"`
		Replace string `json:"replace"`
		Last    string `json:"last" enum:"true,false"`
	}
)

func showAdd(id int, h farm.HeaderAdd) AddedHeader { return AddedHeader{id, h.Header} }

func showRemove(id int, h farm.HeaderRemove) RemovedHeader {
	return RemovedHeader{id, h.Pattern}
}

func showReplace(id int, h farm.HeaderReplace) ReplacedHeader {
	return ReplacedHeader{id, h.Header, h.Match, h.Replace}
}

func showRewrite(id int, u farm.URLRewrite) RewrittenURL {
	return RewrittenURL{id, u.Pattern, u.Replace, rest.Truth(u.Last)}
}

func shownRules[T, V any](rules []T, show func(int, T) V) []V {
	out := make([]V, len(rules))
	for i, r := range rules {
		out[i] = show(i, r)
	}
	return out
}

// rulesOfService returns the length of each rule list of a service.
func rulesOfService(v *farm.Service) map[string]int {
	out := countRules(&v.HeaderRules, httpfarm.AddRequest.Service, httpfarm.RemoveRequest.Service)
	out[httpfarm.Rewrites.Service] = len(v.Rewrites)
	return out
}

func countRules(r *farm.HeaderRules, add, remove string) map[string]int {
	return map[string]int{
		add: len(r.AddRequest), remove: len(r.RemoveRequest), httpfarm.ReplaceRequest.Service: len(r.ReplaceRequest),
		httpfarm.AddResponse.Service: len(r.AddResponse), httpfarm.RemoveResponse.Service: len(r.RemoveResponse), httpfarm.ReplaceResponse.Service: len(r.ReplaceResponse),
	}
}
