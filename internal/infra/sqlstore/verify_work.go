package sqlstore

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
)

// checkWorks holds works against their links: whoever is linked is of one work, and a
// work holds together by its links; its number is the smallest of its records; nothing
// that a person has cut apart is in one.
func (v *verifier) checkWorks() error {
	together := newSets()
	err := v.each(func(r *sql.Rows) error {
		var a, b int64
		err := r.Scan(&a, &b)
		together.join(a, b)
		return err
	}, `SELECT from_record, to_record FROM ing_work_edge WHERE polarity_code='LINK'`)
	if err != nil {
		return err
	}
	of := map[int64]int64{}
	err = v.each(func(r *sql.Rows) error {
		var record, in int64
		var packed sql.RawBytes
		if err := r.Scan(&record, &in, &packed); err != nil {
			return err
		}
		of[record] = in
		links, err := unpackLinks(packed)
		if err != nil {
			v.report(fmt.Sprintf("record %d", record), "%v", err)
		}
		for _, p := range links {
			together.join(record, p.other)
		}
		return nil
	}, `SELECT record_id, work_id, links FROM ing_work_member`)
	if err != nil {
		return err
	}
	for _, group := range together.groups() {
		for _, record := range group {
			is, member := of[record]
			if !member || is != group[0] {
				v.report(fmt.Sprintf("record %d", record), "its links make it one of work %d, and it is stored as one of work %d", group[0], is)
			}
			delete(of, record)
		}
	}
	for _, record := range slices.Sorted(maps.Keys(of)) {
		v.report(fmt.Sprintf("record %d", record), "is stored as one of work %d, and no link makes it so", of[record])
	}
	if err := v.reportRows("record", `SELECT m.record_id, 'is of a work, and there is no such record'
		FROM ing_work_member m LEFT JOIN ing_record r ON r.id=m.record_id WHERE r.id IS NULL ORDER BY m.record_id LIMIT 101`); err != nil {
		return err
	}
	return v.reportRows("decision", `SELECT DISTINCT d.id, 'keeps records apart that are of one work' FROM ing_work_decision d
		JOIN ing_work_decision_record a ON a.decision_id=d.id AND a.part_no=0
		JOIN ing_work_decision_record b ON b.decision_id=d.id AND b.part_no=1
		JOIN ing_work_member ma ON ma.record_id=a.record_id JOIN ing_work_member mb ON mb.record_id=b.record_id AND mb.work_id=ma.work_id
		WHERE d.kind_code='SPLIT' AND `+standing+` ORDER BY d.id LIMIT 101`)
}
