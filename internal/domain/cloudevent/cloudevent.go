// Package cloudevent is the form in which patra tells other programs that something
// happened: the JSON format of CloudEvents 1.0, in structured mode.
package cloudevent

import "time"

// MediaType is what a body that holds one event says it is.
const MediaType = "application/cloudevents+json"

// Event is something that happened. What it was is its data.
type Event struct {
	SpecVersion string `json:"specversion"`
	// ID and Source together name the event: sent again it has the same ones.
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	// PartitionKey is the same for all events whose order matters, and Sequence grows
	// among them. Both are extensions that CloudEvents documents.
	PartitionKey string `json:"partitionkey,omitempty"`
	Sequence     string `json:"sequence,omitempty"`
	Data         any    `json:"data"`
}

// New makes an event with JSON as its data.
func New(id, source, kind, subject string, at time.Time, data any) Event {
	return Event{
		SpecVersion: "1.0", ID: id, Source: source, Type: kind, Subject: subject, Time: at,
		DataContentType: "application/json", Data: data,
	}
}
