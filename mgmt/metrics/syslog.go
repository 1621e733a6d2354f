package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluicelb/sluice/mgmt/syslog"
)

// syslogDescs are the metrics of remote syslog servers.
type syslogDescs struct {
	up, waiting, sent, dropped, reconnects *prometheus.Desc
}

func newSyslogDescs(desc func(name, help string, labels ...string) *prometheus.Desc) syslogDescs {
	return syslogDescs{
		up:         desc("syslog_up", "Whether the syslog server takes messages, as far as is known.", "server"),
		waiting:    desc("syslog_waiting_messages", "Messages that wait for the syslog server.", "server"),
		sent:       desc("syslog_sent_messages_total", "Messages that were sent to the syslog server since mgmt was started, or the server was set.", "server"),
		dropped:    desc("syslog_dropped_messages_total", "Messages that were dropped because too many waited for the syslog server.", "server"),
		reconnects: desc("syslog_reconnects_total", "How often a connection to the syslog server ended and another one was made.", "server"),
	}
}

func (d *syslogDescs) describe(ch chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{d.up, d.waiting, d.sent, d.dropped, d.reconnects} {
		ch <- one
	}
}

func (d *syslogDescs) collect(ch chan<- prometheus.Metric, servers []syslog.Stats) {
	for _, s := range servers {
		ch <- gauge(d.up, truth(s.Problem == ""), s.Target)
		ch <- gauge(d.waiting, float64(s.Waiting), s.Target)
		ch <- total(d.sent, s.Sent, s.Target)
		ch <- total(d.dropped, s.Dropped, s.Target)
		ch <- total(d.reconnects, s.Reconnects, s.Target)
	}
}
