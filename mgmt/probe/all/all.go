// Package all contains every built-in check. A process that runs checks calls Use once,
// when it starts. Nothing is allocated or opened before a check runs.
package all

import (
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/dns"
	"github.com/sluicelb/sluice/mgmt/probe/grpc"
	"github.com/sluicelb/sluice/mgmt/probe/http"
	"github.com/sluicelb/sluice/mgmt/probe/ldap"
	"github.com/sluicelb/sluice/mgmt/probe/memcached"
	"github.com/sluicelb/sluice/mgmt/probe/mongo"
	"github.com/sluicelb/sluice/mgmt/probe/mqtt"
	"github.com/sluicelb/sluice/mgmt/probe/mssql"
	"github.com/sluicelb/sluice/mgmt/probe/mysql"
	"github.com/sluicelb/sluice/mgmt/probe/node"
	"github.com/sluicelb/sluice/mgmt/probe/ntp"
	"github.com/sluicelb/sluice/mgmt/probe/oracle"
	"github.com/sluicelb/sluice/mgmt/probe/ping"
	"github.com/sluicelb/sluice/mgmt/probe/postgres"
	"github.com/sluicelb/sluice/mgmt/probe/program"
	"github.com/sluicelb/sluice/mgmt/probe/radius"
	"github.com/sluicelb/sluice/mgmt/probe/redis"
	"github.com/sluicelb/sluice/mgmt/probe/sip"
	"github.com/sluicelb/sluice/mgmt/probe/smtp"
	"github.com/sluicelb/sluice/mgmt/probe/snmp"
	"github.com/sluicelb/sluice/mgmt/probe/tcp"
	"github.com/sluicelb/sluice/mgmt/probe/websocket"
)

// Use makes all checks known to probe.Parse, and the programs in the folders:
// program.Plugins and the folder for the operator's own plugins.
func Use(folders ...string) {
	probe.Use(probe.Known{Checks: Checks(), Program: program.Folders(folders).Make, Unfit: program.Folders(folders).Unfit})
}

// Checks returns the built-in checks by name.
func Checks() map[string]probe.Make {
	all := tcp.Services()
	for name, make := range map[string]probe.Make{
		"check_tcp":       tcp.Check,
		"check_udp":       tcp.UDP,
		"check_tls":       tcp.TLS,
		"check_http":      http.Check,
		"check_ping":      ping.Check,
		"check_smtp":      smtp.Check,
		"check_redis":     redis.Check,
		"check_memcached": memcached.Check,
		"check_mqtt":      mqtt.Check,
		"check_mongodb":   mongo.Check,
		"check_mssql":     mssql.Check,
		"check_oracle":    oracle.Check,
		"check_websocket": websocket.Check,
		"check_dns":       dns.Check,
		"check_dig":       dns.Dig,
		"check_ldap":      ldap.Check,
		"check_ldaps":     ldap.Secure,
		"check_mysql":     mysql.Check,
		"check_pgsql":     postgres.Check,
		"check_grpc":      grpc.Check,
		"check_ntp_time":  ntp.Check,
		"check_ntp":       ntp.Check,
		"check_snmp":      snmp.Check,
		"check_radius":    radius.Check,
		"check_sip":       sip.Check,
		"check_sluice":    node.Check,
	} {
		all[name] = make
	}
	return all
}
