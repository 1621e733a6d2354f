package api

import (
	"net/http"

	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// operations is the table of everything the API can do.
func (s *Server) operations() []*operation {
	return concat(s.farmOperations(), s.serviceOperations(), s.backendOperations(), s.ruleOperations(),
		s.statisticsOperations(), s.traceOperations(), s.configOperations(), s.systemOperations(),
		s.certificateOperations(), s.authorityOperations(), s.farmCertificateOperations(), s.acmeOperations(),
		s.sessionOperations(), s.explainOperations(), s.connectionOperations(), s.kernelOperations())
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
		op(get, "/farms", auth.RightRead, "List farms", s.listFarms),
		op(post, "/farms", auth.RightConfigure, "Create a farm", s.createFarm).body(newFarmFields{}).refers().created(),
		op(get, "/farms/modules/summary", auth.RightRead, "List the farms of all modules", s.modulesSummary),
		op(get, "/farms/modules/lslb", auth.RightRead, "List the farms of the LSLB module", s.listFarms),
		op(get, "/farms/{farm}", auth.RightRead, "Get a farm", s.getFarm),
		op(put, "/farms/{farm}", auth.RightConfigure, "Modify a farm", s.updateFarm).body(farmFields{}),
		op(del, "/farms/{farm}", auth.RightConfigure, "Delete a farm", s.deleteFarm),
		op(get, "/farms/{farm}/summary", auth.RightRead, "Get the summary of a farm", s.getFarmSummary),
		op(get, "/farms/{farm}/status", auth.RightRead, "Get the status of a farm", s.getFarmStatus),
		op(put, "/farms/{farm}/actions", auth.RightOperate, "Start, stop or restart a farm", s.actOnFarm).body(&validate.FarmAction),
	}
}

func (s *Server) serviceOperations() []*operation {
	const one = "/farms/{farm}/services/{service}"
	return []*operation{
		op(post, "/farms/{farm}/services", auth.RightConfigure, "Create a service", s.createService).body(&validate.ServiceCreate).created(),
		op(get, one, auth.RightRead, "Get a service", s.getService),
		op(put, one, auth.RightConfigure, "Modify a service", s.updateService).body(&validate.ServiceUpdate),
		op(del, one, auth.RightConfigure, "Delete a service", s.deleteService),
		op(post, one+"/actions", auth.RightConfigure, "Move a service", s.moveService).body(&validate.ServiceMove),
	}
}

func (s *Server) statisticsOperations() []*operation {
	return []*operation{
		op(get, "/stats/farms", auth.RightRead, "List farms statistics", s.allStatistics).
			with("profile", "Only farms of this profile").with("status", "Only farms with this status"),
		op(get, "/stats/farms/total", auth.RightRead, "Get the number of farms", s.farmsTotal),
		op(get, "/stats/farms/modules", auth.RightRead, "Count the farms of all modules by status", s.moduleStatistics),
		op(get, "/stats/farms/modules/lslb", auth.RightRead, "List the statistics of the farms of the LSLB module", s.allStatistics).
			with("profile", "Only farms of this profile").with("status", "Only farms with this status"),
		op(get, "/stats/farms/{farm}", auth.RightRead, "Get the statistics of a farm", s.oneFarmStatistics),
		op(get, "/stats/farms/{farm}/backends", auth.RightRead, "Get the statistics of the backends of a farm", s.oneFarmStatistics),
		op(get, "/stats/farms/{farm}/services/{service}/backends", auth.RightRead, "Get the statistics of the backends of a service", s.serviceStatistics),
		op(get, "/stats/farms/{farm}/service/{service}/backends", auth.RightRead, "Get the statistics of the backends of a service (older path)", s.serviceStatistics),
	}
}

func (s *Server) configOperations() []*operation {
	const dryRun, comment = "true to see the difference only", "Why the change is made; kept in the history"
	return []*operation{
		raw(get, "/config", auth.RightRead, "Export the configuration", s.exportConfig).with("format", "yaml (default) or json"),
		op(put, "/config", auth.RightConfigure, "Apply a document", s.applyConfig).takesDocument().with("dry_run", dryRun).with("comment", comment),
		op(post, "/config", auth.RightConfigure, "Apply a document", s.applyConfig).takesDocument().with("dry_run", dryRun).with("comment", comment),
		op(post, "/config/reload", auth.RightConfigure, "Apply the configuration file again", s.reloadConfig),
		op(get, "/history", auth.RightRead, "List the revisions of the configuration", s.listHistory).
			with("limit", "How many, 50 when not given").with("before", "Only revisions with a lower number"),
		op(get, "/history/{revision}", auth.RightRead, "Get a revision", s.getRevision),
		op(get, "/history/{revision}/diff", auth.RightRead, "Compare two revisions", s.diffRevision).
			with("from", "The revision to compare with; the one before when not given"),
		op(post, "/history/rollback", auth.RightConfigure, "Go back to a revision", s.rollback).body(rollbackFields{}).refers(),
	}
}

func (s *Server) systemOperations() []*operation {
	return []*operation{
		op(get, "/schema", auth.RightRead, "Get the schema of everything that can be configured", s.getSchema),
		op(get, "/system/version", auth.RightRead, "Get the versions", s.version),
		op(get, "/system/global", auth.RightRead, "Get the settings of the appliance", s.getGlobal),
		op(post, "/system/global", auth.RightAdmin, "Change the settings of the appliance", s.setGlobal).body(&validate.GlobalSettings),
		op(put, "/system/global", auth.RightAdmin, "Change the settings of the appliance", s.setGlobal).body(&validate.GlobalSettings),
		op(get, "/status", auth.RightRead, "Get the state of the appliance", s.applianceStatus),
		op(get, "/keys", auth.RightAdmin, "List API keys", s.listKeys),
		op(post, "/keys", auth.RightAdmin, "Create an API key", s.createKey).body(keyFields{}).created(),
		op(del, "/keys/{key}", auth.RightAdmin, "Delete an API key", s.deleteKey),
	}
}
