// Package rest is the kit every resource of the API stands on; it knows none of
// them. An Operation is one line of the table routing, rights and the OpenAPI
// document come from:
//
//	rest.Op(rest.Get, "/farms", rbac.Open, "List farms", s.listFarms)
//	rest.Op(rest.Post, "/farms", rbac.FarmCreate, "Create a farm", s.createFarm).Body(newFarmFields{}).Created()
//
// Its handler gets a Call: who asks, the configuration, parameters of path and
// query, the body (Decode, Object, Texts), and the one writer (Change). What it
// returns is written as JSON; an error becomes a Rejection, and any other error a
// fault of ours. Before the handler runs, the permission was looked at, whether
// the caller sees the farm the path names, and the query: what an operation does
// not know is refused. A change that is only tried (dry_run) ends where it would
// do something: in Change, or at Act.
//
// File, Raw, Long and Stream are for answers that are not JSON.
package rest
