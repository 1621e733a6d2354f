package system

import (
	"maps"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// Names of settings, also used as storage keys.
const logLevel, orderTime, develops = "log_level", "le_renewal_timeout", "cors_devel_mode"

// Fixed holds settings of the family that have a fixed value here.
type Fixed struct {
	StopGrace  int64  `json:"http_farm_stop_grace_time" doc:"Always 30: each farm has its own grace"`
	SIP        string `json:"l4xnat_sip_params" doc:"Always empty: the kernel reads them from /etc/modprobe.d"`
	Announces  string `json:"arp_announce" enum:"false" doc:"Always false: see the fields of a change"`
	Sync       string `json:"ssyncd" enum:"false" doc:"Always false: see the fields of a change"`
	Duplicated string `json:"duplicated_network" enum:"false" doc:"Always false: see the fields of a change"`
	NewProxy   string `json:"proxy_new_generation" enum:"true" doc:"Always true: see the fields of a change"`
	Assistant  string `json:"waf_assistant" enum:"false" doc:"Always false: see the fields of a change"`
}

var fixed = Fixed{StopGrace: 30, Announces: "false", Sync: "false", Duplicated: "false", NewProxy: "true", Assistant: "false"}

// Develops reports whether pages of a web interface under development may use the API.
func Develops(s Settings) bool {
	text, _ := s.Setting(develops)
	return text == "true"
}

// LogLevel returns the configured log level of this process, "" for that at start.
func LogLevel(s Settings) string {
	text, _ := s.Setting(logLevel)
	return text
}

// node holds the settings of this process.
type node struct {
	level    string
	order    time.Duration
	develops bool
}

// readNode reads them, and the fixed ones. Missing settings are unchanged, null means the
// default.
func (s *Resource) readNode(body map[string]any) (node, error) {
	n := node{LogLevel(s.deps.Settings), acme.LoadOrderTime(s.deps.Settings), Develops(s.deps.Settings)}
	own := maps.Clone(body)
	maps.DeleteFunc(own, func(name string, _ any) bool {
		return name == settingNames || name == minTTL || name == maxTTL || name == sessionTime
	})
	values, err := system.Settings.Decode("", own)
	if err != nil {
		return n, err
	}
	if values.Has(logLevel) {
		n.level = values.Get(logLevel).Text()
	}
	if values.Has(orderTime) {
		n.order = acme.OrderTime
		if seconds := values.Get(orderTime).Number(); seconds != 0 {
			n.order = time.Duration(seconds) * time.Second
		}
	}
	if values.Has(develops) {
		n.develops = values.Get(develops).Bool()
	}
	return n, nil
}

// saveNode stores changed settings and applies them.
func (s *Resource) saveNode(n node) error {
	if n.level != LogLevel(s.deps.Settings) {
		if err := s.deps.Settings.SetSetting(logLevel, n.level); err != nil {
			return err
		}
		if s.deps.LogLevel != nil {
			s.deps.LogLevel(n.level)
		}
	}
	if n.develops != Develops(s.deps.Settings) {
		if err := s.deps.Settings.SetSetting(develops, strconv.FormatBool(n.develops)); err != nil {
			return err
		}
	}
	if n.order != acme.LoadOrderTime(s.deps.Settings) {
		return acme.SaveOrderTime(s.deps.Settings, n.order)
	}
	return nil
}
