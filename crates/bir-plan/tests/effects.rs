//! Names of tools as servers have them, and what they say without any hint.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use bir_plan::effect::{Effect, effect};

/// They read.
const READS: &str = "
get_order list_orders get_order_status getOrder GetOrder get-order get.order get_orders_by_customer search_orders find_order
get_book search_books read_book get_booking list_bookings get_post list_posts get_post_comments search_posts
get_run list_runs get_run_logs getWorkflowRun list_workflow_runs get_set list_sets get_data_set get_start_time get_stop
list_stops find_stops get_move list_moves get_update list_updates check_update check_for_updates get_edit_history
get_transfer list_transfers get_archive list_archive search_archive get_close_price get_merge_request list_merge_requests
get_merge_status get_commit list_commits search_commits get_commit_diff list_pull_requests get_pull_request
get_pull_request_files getPullRequestReviews list_comments get_comment get_issue_comments list_reviews get_review get_report
list_reports get_request list_requests get_rate get_exchange_rate get_rate_limit get_copy list_copies get_tag list_tags
get_label list_labels get_build list_builds get_build_log get_backup list_backups get_release get_latest_release list_releases
get_schedule list_schedules get_charge list_charges get_refund list_refunds get_deposit list_deposits get_lock list_locks
get_register read_register get_reset_time get_share_price get_shared_files get_fork list_forks get_trigger list_triggers
get_change list_changes get_change_log get_sync_status get_import_status list_imports get_export list_exports get_patch
list_patches get_subscription list_subscriptions get_open_issues list_open_ports find_open_slots get_load get_load_average
get_checkout list_checkouts get_reply list_replies get_push_rules get_mark list_marks
get_weather get_forecast get_current_time get_time getUser get_user list_users search_users find_user get_me whoami
get_file_contents read_file read_multiple_files read_text_file read_media_file list_directory list_directory_with_sizes
list_allowed_directories search_files get_file_info list_tables describe_table read_query list_databases get_schema
describe_instances describe_stacks get_object list_objects list_buckets get_bucket_policy query_metrics query_prometheus
query_loki_logs list_dashboards get_dashboard_by_uid search_dashboards fetch fetch_url fetch_html fetch_json fetchPage
search search_web search_nodes read_graph search_hotels search_flights search_flight_location get_seat_map getHotelReviews
get_hotel_details Search_Hotels Get_Room_List get_availability check_availability check_status check_balance view_file
view_image view_cart show_branch show_config show_version count_rows count_users compare_branches compare_prices
compare_commits lookup_symbol lookup_address retrieve_document retrieve_balance browse_catalog inspect_element
inspect_container enumerate_devices explain_query preview_invoice peek_queue validate_json validate_schema verify_signature
verify_address calculate_route calculate_tax compute_hash estimate_cost convert_currency translate_text diff_files grep_code
glob_files locate_device geocode_address autocomplete_place is_available is_admin has_access ping stat_file tail_logs
measure_distance get_name_and_address search_hotels_and_flights list_users_or_groups get_weather_and_time
find_places_with_filter get_items_with_tags get_library_docs get_node_info list_pods get_pod_logs get_events list_namespaces
list_channels get_channel_history get_thread_replies get_users get_user_profile list_messages search_messages get_message
read_messages get_unread list_calendars list_events get_event get_freebusy list_contacts search_contacts search_threads
get_thread list_drafts list_issues get_issue search_issues list_teams get_team list_projects get_project list_documents
get_document get_page retrieve_page get_block_children get_database query_database_rows list_alerts get_alert list_incidents
get_incident list_sprints get_sprint_issues get_transitions get_worklog list_assigned_to_me get_created_at
list_deleted_items get_deleted_files get_removed_nodes get_updated_records list_cancelled get_sent_items
list_installed_packages get_installation get_creation_date get_deployment list_deployments get_payment list_payments
get_buyer get_payer list_sellers get_publisher list_removals get_address get_additional_info list_addons get_settings
get_setting list_settings list_runners get_runner get_ordering get_bookmarks list_bookmarks get_posture get_output get_input
list_inputs get_orderbook get_order_book get_placement list_startups get_startup get_moves_by_player get_movie list_movies
search_movies get_closest_stop get_stopwords get_vm list_vms get_node_status list_nodes list_containers get_container
list_images get_image list_volumes list_snapshots get_snapshot list_networks list_services get_service list_secret_names
get_config get_metrics get_traces get_logs search_logs list_monitors get_monitor list_hosts get_slo list_repositories
get_repository search_repositories search_code list_branches get_branch get_tree get_blame get_notifications
list_notifications get_discussion list_gists get_gist list_artifacts get_artifact list_jobs get_job get_job_trace
list_pipelines get_pipeline list_variables list_milestones get_milestone list_webhooks get_webhook getDeals listContacts
searchCompanies findLeads readSheet readRange getValues getSheetMetadata listSheets countDocuments find listCollections
queryGraph getNeighbors describeIndex listIndexes describe_index_stats search_records fetch_records getCustomer listCustomers
listInvoices getInvoice listProducts listPrices listCoupons listDisputes getDispute getBalance searchStripeResources
getProduct getCart getShipping
";

/// They write, or nobody knows.
const OTHERS: &str = "
order_pizza place_order orderPizza book_room book_flight post_message post_tweet set_value set_config run_query run_command
runTests start_server stop_server move_file move_issue update_issue edit_file edit_block transfer_funds archive_channel
close_issue merge_pull_request commit_changes push_files pull_repo comment_on_issue reply_to_thread share_file import_data
export_data patch_resource release_lock schedule_meeting charge_card refund_payment deposit_money lock_door mark_as_read
register_user reset_password checkout_cart review_code report_spam request_review rate_movie copy_file sync_files
trigger_build change_password fork_repository tag_release label_issue build_project backup_database restore_backup
subscribe_channel open_file load_page create_issue create_order add_comment insert_row put_object send_email send_message
write_file write_query delete_file delete_order remove_member drop_table cancel_order buy_stock pay_invoice rename_file
execute_sql execute_code exec_in_pod eval_script upload_file reserve_table replace_text overwrite_file append_to_file
modify_labels save_file store_memory clear_cache purge_queue wipe_disk erase_data destroy_vm kill_process terminate_instance
truncate_table revoke_token publish_package unpublish_post submit_form approve_request reject_request enable_feature
disable_user install_package uninstall_package deploy_app restart_pod reboot_vm rollback_release grant_access assign_issue
unassign_issue invite_user apply_patch attach_file detach_volume unlock_door unsubscribe upsert_record swap_tokens ban_user
withdraw_funds get_or_create get_or_create_user getOrCreate find_or_create find_and_replace find_replace search_and_replace
search_replace find_and_update find_and_modify findOneAndUpdate findOneAndDelete findAndRemove get_and_delete
get_and_set getAndSet read_and_archive list_then_close fetch_and_store fetch_and_process get_and_process compare_and_swap
compare_and_set check_in check_out checkIn check_in_guest check_off_item read_write_file get_create_delete
list_and_cancel_orders get_delete view_and_edit query_and_execute check_and_set lookup_and_insert read_in
fetch_then_post search_then_book frobnicate do_it process handle magic tool x toggle_light navigate click type hover
browser_click browser_navigate browser_type browser_snapshot press_key fill_form select_option drag take_screenshot
open_nodes download_file sequentialthinking think resolve_issue resolve-library-id
toggle_list flush_view rebuild_search empty_trash sort_list batch bulk_edit mass_update invoke call dispatch emit
increment decrement rotate_keys migrate seed scale_deployment cordon_node drain_node evict_pod taint_node annotate
forward_message dismiss_alert acknowledge_alert mute_monitor snooze_reminder complete_task finish_task begin_transaction
pin_message unpin_message join_channel leave_channel kick_user follow_user like_post vote upvote star_repository
get_file_and_delete listDeleteAll getDeleteSet count_and_reset search_delete fetch_remove querySend showAndClose
retrieve_and_send verify_and_submit validate_and_save convert_and_upload translate_and_publish preview_and_deploy
calculate_and_apply is_set_or_set has_or_create ping_and_restart tail_and_truncate_log diff_and_merge grep_and_replace
";

#[test]
fn a_name_that_reads_is_a_read_and_no_other_is() {
    let (reads, others): (Vec<&str>, Vec<&str>) =
        (READS.split_whitespace().collect(), OTHERS.split_whitespace().collect());
    assert!(reads.len() + others.len() > 600, "{} and {}", reads.len(), others.len());
    let wrong: Vec<&str> =
        reads.iter().copied().filter(|tool| effect(tool, None, false) != Effect::Read).collect();
    assert!(wrong.is_empty(), "taken for writes: {wrong:?}");
    let wrong: Vec<&str> =
        others.iter().copied().filter(|tool| effect(tool, None, false) != Effect::Destructive).collect();
    assert!(wrong.is_empty(), "taken for reads: {wrong:?}");
}
