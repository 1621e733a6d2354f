// Package geoip keeps the database that says where addresses are, which an operator
// uploads in the MaxMind DB format (GeoLite2, DB-IP, IPinfo and others): it is made a table
// of core/geoip once, which is what lies in the data directory and goes to the engine.
package geoip
