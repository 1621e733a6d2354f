package validate

import (
	"slices"
	"strings"
)

// Term is a term of HAProxy, nginx or another load balancer.
type Term struct {
	// Fields lists the equivalent fields. The first one that the object has applies.
	Fields []string
	// Command describes the equivalent if no field of the object applies.
	Command string
}

// foreign maps terms in lower case with underscores.
var foreign = map[string]Term{
	// objects
	"frontend":         {Command: "a farm listens: sluice farm create"},
	"listen":           {Fields: []string{"vport", "listen"}, Command: "a farm listens: sluice farm create"},
	"virtual_server":   {Command: "it is a farm: sluice farm create"},
	"virtualserver":    {Command: "it is a farm: sluice farm create"},
	"vserver":          {Command: "it is a farm: sluice farm create"},
	"vs":               {Command: "it is a farm: sluice farm create"},
	"upstream":         {Command: "backends belong to a service of a farm: sluice service create, sluice backend create"},
	"pool":             {Command: "backends belong to a service of a farm: sluice service create, sluice backend create"},
	"server":           {Fields: []string{"ip"}, Command: "it is a backend: sluice backend create"},
	"real_server":      {Command: "it is a backend: sluice backend create"},
	"member":           {Command: "it is a backend: sluice backend create"},
	"node":             {Command: "it is a backend: sluice backend create"},
	"location":         {Fields: []string{"urlp"}, Command: "a service takes a part of the paths: sluice service create, setting urlp"},
	"use_backend":      {Fields: []string{"vhost", "urlp"}, Command: "services of a farm are tried in their order: sluice service create, settings vhost and urlp"},
	"default_backend":  {Command: "it is the last service of a farm, without vhost and urlp: sluice service create"},
	"acl":              {Fields: []string{"vhost", "urlp", "headrequire"}, Command: "services match requests by vhost, urlp and headrequire: sluice service set"},
	"map":              {Command: "services match requests by vhost, urlp and headrequire: sluice service set"},
	"resolvers":        {Fields: []string{"resolve"}, Command: "backends may be names, see resolve: sluice backend set; the name servers: sluice system dns"},
	"userlist":         {Fields: []string{"auth_users"}, Command: "a service lists who may enter: sluice service set, setting auth_users"},
	"stick_table":      {Fields: []string{"persistence"}, Command: "clients stay on a backend by persistence: sluice service set; who is where: sluice session list"},
	"stats":            {Command: "sluice stats, sluice top, or GET /metrics"},
	"peers":            {Command: "there is no such thing yet: sessions belong to one appliance"},
	"ssl_certificate":  {Fields: []string{"certificates", "certificate"}, Command: "sluice certificate upload, then sluice certificate add"},
	"crt":              {Fields: []string{"certificates", "certificate"}, Command: "sluice certificate upload, then sluice certificate add"},
	"cert":             {Fields: []string{"certificates", "certificate"}, Command: "sluice certificate"},
	"errorfile":        {Fields: []string{"error503", "error500", "error501", "error414"}, Command: "sluice farm set, settings error414 to error503"},
	"error_page":       {Fields: []string{"error503", "error500", "error501", "error414"}, Command: "sluice farm set, settings error414 to error503"},
	"proxy_set_header": {Command: "sluice header create FARM addrequestheader"},
	"add_header":       {Command: "sluice header create FARM addresponseheader"},
	"http_request":     {Command: "sluice header create for fields, sluice rewrite create for paths"},
	"http_response":    {Command: "sluice header create FARM addresponseheader"},
	"rewrite":          {Command: "sluice rewrite create FARM SERVICE"},
	"limit_req":        {Fields: []string{"ratelimit"}, Command: "sluice service set, setting ratelimit"},
	"keepalived":       {Command: "there is no such thing: let keepalived move the VIP"},

	// settings
	"balance":               {Fields: []string{"algorithm", "routingpolicy"}, Command: "settings algorithm (l4xnat and gslb) and routingpolicy (services of http)"},
	"lb_method":             {Fields: []string{"algorithm", "routingpolicy"}},
	"lb_algo":               {Fields: []string{"algorithm", "routingpolicy"}},
	"least_conn":            {Fields: []string{"algorithm", "routingpolicy"}},
	"leastconn":             {Fields: []string{"algorithm", "routingpolicy"}},
	"ip_hash":               {Fields: []string{"persistence"}},
	"sticky":                {Fields: []string{"persistence"}},
	"stick":                 {Fields: []string{"persistence"}},
	"affinity":              {Fields: []string{"persistence"}},
	"cookie":                {Fields: []string{"cookieinsert", "sessionid"}},
	"appsession":            {Fields: []string{"sessionid"}},
	"bind":                  {Fields: []string{"vip", "vport"}, Command: "a farm has vip and vport: sluice farm create"},
	"address":               {Fields: []string{"ip", "vip"}},
	"addr":                  {Fields: []string{"ip", "vip"}},
	"virtual_ipaddress":     {Fields: []string{"vip"}},
	"mode":                  {Fields: []string{"profile"}, Command: "a farm has a profile: http, https, l4xnat or gslb"},
	"server_name":           {Fields: []string{"vhost", "server_names"}},
	"hostname":              {Fields: []string{"vhost", "ip"}},
	"domain":                {Fields: []string{"vhost", "cookiedomain"}},
	"path":                  {Fields: []string{"urlp"}},
	"path_beg":              {Fields: []string{"urlp"}},
	"proxy_pass":            {Fields: []string{"ip"}, Command: "a service forwards to its backends: sluice backend create"},
	"return":                {Fields: []string{"redirect"}},
	"backup":                {Fields: []string{"priority"}},
	"disabled":              {Fields: []string{"maintenance"}, Command: "sluice backend maintenance"},
	"drain":                 {Fields: []string{"maintenance"}, Command: "sluice backend maintenance"},
	"down":                  {Fields: []string{"maintenance"}, Command: "sluice backend maintenance"},
	"maxconn":               {Fields: []string{"connection_limit", "max_conns", "maxconnections"}},
	"max_connections":       {Fields: []string{"maxconnections", "connection_limit", "max_conns"}},
	"worker_connections":    {Fields: []string{"maxconnections"}},
	"fullconn":              {Fields: []string{"queue"}},
	"maxqueue":              {Fields: []string{"queue"}},
	"inter":                 {Fields: []string{"interval"}, Command: "a health check has interval, rise and fall: sluice check create"},
	"fastinter":             {Fields: []string{"interval"}, Command: "a health check has interval, rise and fall: sluice check create"},
	"rise":                  {Fields: []string{"farmguardian"}, Command: "a health check has interval, rise and fall: sluice check create"},
	"fall":                  {Fields: []string{"farmguardian"}, Command: "a health check has interval, rise and fall: sluice check create"},
	"passes":                {Fields: []string{"rise"}},
	"fails":                 {Fields: []string{"fall"}},
	"max_fails":             {Fields: []string{"fall", "farmguardian"}},
	"fail_timeout":          {Fields: []string{"resurrectime", "outlier_time"}},
	"check":                 {Fields: []string{"farmguardian"}, Command: "sluice check create, then sluice check link"},
	"option_httpchk":        {Fields: []string{"farmguardian", "command"}, Command: "sluice check create, then sluice check link"},
	"httpchk":               {Fields: []string{"farmguardian", "command"}, Command: "sluice check create, then sluice check link"},
	"health_check":          {Fields: []string{"farmguardian"}, Command: "sluice check create, then sluice check link"},
	"observe":               {Fields: []string{"outlier_errors"}},
	"timeout_connect":       {Fields: []string{"contimeout", "timeout"}},
	"proxy_connect_timeout": {Fields: []string{"contimeout", "timeout"}},
	"timeout_server":        {Fields: []string{"restimeout", "timeout", "idle_timeout"}},
	"proxy_read_timeout":    {Fields: []string{"restimeout", "timeout"}},
	"timeout_client":        {Fields: []string{"reqtimeout", "idle_timeout"}},
	"timeout_http_request":  {Fields: []string{"reqtimeout"}},
	"client_header_timeout": {Fields: []string{"reqtimeout"}},
	"timeout_tunnel":        {Fields: []string{"wstimeout"}},
	"timeout_queue":         {Fields: []string{"queue_timeout"}},
	"timeout_check":         {Fields: []string{"timeout"}},
	"client_max_body_size":  {Fields: []string{"maxbody", "maxrequest"}},
	"send_proxy":            {Fields: []string{"proxyprotocol_out"}},
	"accept_proxy":          {Fields: []string{"proxyprotocol_in"}},
	"proxy_protocol":        {Fields: []string{"proxyprotocol_in", "proxyprotocol_out"}},
	"set_real_ip_from":      {Fields: []string{"trusted"}},
	"forwardfor":            {Command: "X-Forwarded-For is always set; trusted names proxies in front: sluice farm set"},
	"redispatch":            {Fields: []string{"retry_on", "retries"}},
	"proxy_next_upstream":   {Fields: []string{"retry_on"}},
	"retry":                 {Fields: []string{"retries"}},
	"gzip":                  {Fields: []string{"compression"}},
	"ssl":                   {Fields: []string{"listener", "httpsb"}},
	"tls":                   {Fields: []string{"listener", "httpsb"}},
	"https":                 {Fields: []string{"listener", "httpsb"}},
	"verify":                {Fields: []string{"client_auth", "httpsb_verify"}},
	"ca_file":               {Fields: []string{"client_ca", "httpsb_ca"}},
	"ssl_ciphers":           {Fields: []string{"ciphers"}},
	"ssl_protocols":         {Fields: []string{"disable_tlsv1"}},
	"ssl_min_ver":           {Fields: []string{"disable_tlsv1"}},
	"sni":                   {Fields: []string{"httpsb_name", "server_names"}},
	"alpn":                  {Fields: []string{"disable_http2", "backendprotocol"}},
	"http2":                 {Fields: []string{"disable_http2", "backendprotocol"}},
	"hsts":                  {Fields: []string{"sts_status"}},
	"slow_start":            {Fields: []string{"slowstart"}},
	"interface":             {Fields: []string{"mark"}},
	"nbthread":              {Command: "the engine has one event loop for each CPU"},
	"log":                   {Fields: []string{"logs", "log_sink", "log_target"}},
	"access_log":            {Fields: []string{"logs", "log_file", "log_target"}},
	"auth_basic":            {Fields: []string{"auth_users"}},
	"allow":                 {Command: "there is no list of addresses yet: let the packet filter do it"},
	"deny":                  {Fields: []string{"headdeny"}},
	"protocol":              {Fields: []string{"profile"}},

	"accept_invalid_http_response":              {Fields: []string{"backend_leniency"}},
	"accept_unsafe_violations_in_http_response": {Fields: []string{"backend_leniency"}},
}

// Foreign returns the equivalent of a term of another load balancer.
func Foreign(word string) (Term, bool) {
	t, is := foreign[strings.NewReplacer("-", "_", " ", "_", ".", "_").Replace(strings.ToLower(word))]
	return t, is
}

// meant explains a term of another load balancer for an object with the known fields, or
// returns "".
func meant(word string, known []string) string {
	t, is := Foreign(word)
	if !is {
		return ""
	}
	var here []string
	for _, name := range t.Fields {
		if slices.Contains(known, name) {
			here = append(here, name)
		}
	}
	switch {
	case len(here) > 0:
		return " (did you mean " + alternatives(here) + "?)"
	case t.Command != "":
		return " (" + t.Command + ")"
	}
	return ""
}
