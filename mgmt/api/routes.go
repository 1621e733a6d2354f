package api

import (
	"net/http"
	"strings"

	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// operations is the table of everything the API can do.
func (s *Server) operations() []*operation {
	return concat(s.farmOperations(), s.serviceOperations(), s.backendOperations(), s.ruleOperations(),
		s.statisticsOperations(), s.machineOperations(), s.seriesOperations(), s.graphOperations(), s.logOperations(), s.traceOperations(), s.configOperations(), s.systemOperations(),
		s.certificateOperations(), s.authorityOperations(), s.farmCertificateOperations(), s.acmeOperations(),
		s.sessionOperations(), s.explainOperations(), s.connectionOperations(), s.kernelOperations(),
		s.auditOperations(), s.changeOperations(), s.idsOperations(), s.loginOperations(), s.userOperations(), s.groupOperations(), s.roleOperations())
}

func concat(groups ...[]*operation) []*operation {
	var out []*operation
	for _, g := range groups {
		out = append(out, g...)
	}
	return out
}

const (
	get  = http.MethodGet
	post = http.MethodPost
	put  = http.MethodPut
	del  = http.MethodDelete
)

func (s *Server) farmOperations() []*operation {
	return []*operation{
		op(get, "/farms", rbac.Open, "List farms", s.listFarms),
		op(post, "/farms", rbac.FarmCreate, "Create a farm", s.createFarm).body(newFarmFields{}).refers().created(),
		op(get, "/farms/modules/summary", rbac.Open, "List the farms of all modules", s.modulesSummary),
		op(get, "/farms/modules/lslb", rbac.Open, "List the farms of the LSLB module", s.farmsOf(lslb)),
		op(get, "/farms/modules/gslb", rbac.Open, "List the farms of the GSLB module", s.farmsOf(gslb)),
		op(get, "/farms/modules/dslb", rbac.Open, "List the farms of the DSLB module", s.farmsOf(dslb)),
		op(get, "/farms/{farm}", rbac.Open, "Get a farm", s.getFarm),
		op(put, "/farms/{farm}", rbac.FarmModify, "Modify a farm", s.updateFarm).body(farmFields{}),
		op(del, "/farms/{farm}", rbac.FarmDelete, "Delete a farm", s.deleteFarm),
		op(get, "/farms/{farm}/summary", rbac.Open, "Get the summary of a farm", s.getFarmSummary),
		op(get, "/farms/{farm}/status", rbac.Open, "Get the status of a farm", s.getFarmStatus),
		op(put, "/farms/{farm}/actions", rbac.FarmAction, "Start, stop or restart a farm", s.actOnFarm).body(&validate.FarmAction),
	}
}

func (s *Server) statisticsOperations() []*operation {
	statisticsOf := func(name string, list func(*call) (AllStatistics, error)) *operation {
		return op(get, "/stats/farms/modules/"+name, rbac.Open, "List the statistics of the farms of the "+strings.ToUpper(name)+" module", list).
			with("profile", "Only farms of this profile").with("status", "Only farms with this status")
	}
	return []*operation{
		op(get, "/stats/farms", rbac.Open, "List farms statistics", s.allStatistics).
			with("profile", "Only farms of this profile").with("status", "Only farms with this status"),
		op(get, "/stats/farms/total", rbac.Open, "Get the number of farms", s.farmsTotal),
		op(get, "/stats/farms/modules", rbac.Open, "Count the farms of all modules by status", s.moduleStatistics),
		statisticsOf("lslb", s.statisticsOf(lslb)), statisticsOf("gslb", s.statisticsOf(gslb)), statisticsOf("dslb", s.statisticsOf(dslb)),
		op(get, "/stats/farms/{farm}", rbac.Open, "Get the statistics of a farm", s.oneFarmStatistics),
		op(get, "/stats/farms/{farm}/backends", rbac.Open, "Get the statistics of the backends of a farm", s.oneFarmStatistics),
		op(get, "/stats/farms/{farm}/services/{service}/backends", rbac.Open, "Get the statistics of the backends of a service", s.serviceStatistics),
		op(get, "/stats/farms/{farm}/service/{service}/backends", rbac.Open, "Get the statistics of the backends of a service (older path)", s.serviceStatistics),
	}
}

func (s *Server) configOperations() []*operation {
	const dryRun, comment = "true to see the difference only", "Why the change is made; kept in the history"
	return []*operation{
		raw(get, "/config", rbac.ConfigShow, "Export the configuration", s.exportConfig).with("format", "yaml (default) or json"),
		op(put, "/config", rbac.ConfigApply, "Apply a document", s.applyConfig).takesDocument().with("dry_run", dryRun).with("comment", comment),
		op(post, "/config", rbac.ConfigApply, "Apply a document", s.applyConfig).takesDocument().with("dry_run", dryRun).with("comment", comment),
		op(post, "/config/reload", rbac.ConfigApply, "Apply the configuration file again", s.reloadConfig),
		op(get, "/history", rbac.HistoryShow, "List the revisions of the configuration", s.listHistory).
			with("limit", "How many, 50 when not given").with("before", "Only revisions with a lower number"),
		op(get, "/history/{revision}", rbac.HistoryShow, "Get a revision", s.getRevision),
		op(get, "/history/{revision}/diff", rbac.HistoryShow, "Compare two revisions", s.diffRevision).
			with("from", "The revision to compare with; the one before when not given"),
		op(post, "/history/rollback", rbac.HistoryRollback, "Go back to a revision", s.rollback).body(rollbackFields{}).refers(),
	}
}

func (s *Server) systemOperations() []*operation {
	return []*operation{
		op(get, "/schema", rbac.Open, "Get the schema of everything that can be configured", s.getSchema),
		op(get, "/system/version", rbac.Open, "Get the versions", s.version),
		op(get, "/system/info", rbac.Open, "Get what clients adapt to", s.info),
		op(get, "/system/global", rbac.SystemMenu, "Get the settings of the appliance", s.getGlobal),
		op(post, "/system/global", rbac.SystemModify, "Change the settings of the appliance", s.setGlobal).body(&validate.GlobalSettings),
		op(put, "/system/global", rbac.SystemModify, "Change the settings of the appliance", s.setGlobal).body(&validate.GlobalSettings),
		op(get, "/status", rbac.SystemMenu, "Get the state of the appliance", s.applianceStatus),
		op(get, "/keys", rbac.RootOnly, "List API keys", s.listKeys),
		op(post, "/keys", rbac.RootOnly, "Create an API key", s.createKey).body(keyFields{}).created(),
		op(del, "/keys/{key}", rbac.RootOnly, "Delete an API key", s.deleteKey),
	}
}
